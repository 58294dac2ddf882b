program with_f08
      use mpi_f08
      implicit none
      include 'variables.inc'
      type(MPI_Datatype) :: list, strided, again, dense, absolute
      include 'body.inc'
! A section of an array as buffer: the binding makes a type for it inside.
      do i = 1, n
        places(i) = me * 1000 + i
        lengths(i) = 0
      end do
      call MPI_Sendrecv(places(1:n:2), n / 2, MPI_INTEGER, right, 3, lengths(2:n:2), n / 2, MPI_INTEGER, left, 3, &
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      total = 0
      do i = 1, n
        total = total + lengths(i) * i
      end do
      call MPI_Reduce(total, all, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
      if (me == 0) print '(a,i0)', 'sections: sum ', all
      call MPI_Finalize(ierr)
end program with_f08
