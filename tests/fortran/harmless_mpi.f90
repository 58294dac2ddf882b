program harmless_mpi
      use mpi
      implicit none
      include 'harmless_variables.inc'
      integer :: comm
      include 'harmless_body.inc'
end program harmless_mpi
