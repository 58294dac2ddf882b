awk "BEGIN{n=1000;for(i=0;i<n;i++)print i;for(i=1;i<n;i++)print i*n}" > rc; espalier tree --unit 4 --base MPI_INT rc
