espalier run espalier run sh -c 'echo $LD_PRELOAD'
