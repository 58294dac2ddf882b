printf "#!/bin/sh\n" >prog; chmod +x prog; PATH=$(dirname $(command -v espalier)) espalier run prog
