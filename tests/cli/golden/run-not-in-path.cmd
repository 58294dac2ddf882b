mkdir prog; PATH=$(dirname $(command -v espalier)) espalier run prog
