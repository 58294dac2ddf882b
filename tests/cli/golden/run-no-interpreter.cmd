printf "#!/no/such/sh\n" >prog; chmod +x prog; PATH=$PATH:. espalier run prog
