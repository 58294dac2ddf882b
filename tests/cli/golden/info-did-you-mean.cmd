printf "#!/bin/sh\n" >prog; chmod +x prog; d=$(dirname $(command -v espalier)); PATH=$d espalier info prog >o
