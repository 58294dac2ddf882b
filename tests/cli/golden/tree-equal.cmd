awk "BEGIN{for(i=0;i<1500;i++)print 4}" | espalier tree
