program harmless_mpif
      implicit none
      include 'mpif.h'
      include 'harmless_variables.inc'
      integer :: comm
      include 'harmless_body.inc'
end program harmless_mpif
