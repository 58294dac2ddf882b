awk "BEGIN{n=1000;for(i=0;i<n;i++)print i;for(i=1;i<n;i++)print i*n}" | espalier tree --cost --set=basic --unit 4 --base MPI_INT
