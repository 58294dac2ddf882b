! Handles that are freed by mpi_f08 and come back for other layouts: what is moved with them, summed up, must not
! depend on Espalier. Each type is also compared with the list of places that it was made from.
program recycled
    use mpi_f08
    implicit none
    integer, parameter :: most = 400
    integer :: lens(most), places(most), a(4 * most), b(4 * most)
    integer :: round, n, gap, i, k, bad, reused, ierr
    integer(8) :: total
    logical :: seen(0:255)
    type(MPI_Datatype) :: t, d
    type(MPI_Request) :: r(2)

    call MPI_Init()
    bad = 0
    reused = 0
    total = 0
    seen = .false.
    lens = 1
    do round = 1, 3000
        n = 3 + mod(round * 7, 90)
        gap = 2 + mod(round, 3)
        do i = 1, n
            places(i) = (i - 1) * gap
        end do
        call MPI_Type_indexed(n, lens, places, MPI_INTEGER, t, ierr)
        call MPI_Type_commit(t)
        if (seen(iand(t%MPI_VAL, 255))) reused = reused + 1
        seen(iand(t%MPI_VAL, 255)) = .true.
        do k = 1, 1 + mod(round, 3)
            do i = 1, size(a)
                a(i) = round * 10 + i
                b(i) = -i
            end do
            call MPI_Sendrecv(a, 1, t, 0, k, b, 1, t, 0, k, MPI_COMM_SELF, MPI_STATUS_IGNORE)
            call compare
        end do
        ! Duplicated, freed while a request is pending, the handle taken by another layout at once.
        if (mod(round, 10) == 0) then
            b = [(-i, i = 1, size(b))]
            call MPI_Type_dup(t, d)
            call MPI_Irecv(b, 1, d, 0, 5, MPI_COMM_SELF, r(1))
            call MPI_Type_free(d)
            call MPI_Type_vector(5, 1, 7, MPI_REAL, d)
            call MPI_Type_commit(d)
            call MPI_Isend(a, 1, t, 0, 5, MPI_COMM_SELF, r(2))
            call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
            call compare
            call MPI_Type_free(d)
        end if
        call MPI_Type_free(t)
        if (t /= MPI_DATATYPE_NULL) bad = bad + 1
    end do
    if (reused < 1000) bad = bad + 1
    print '(a, i0, a, i0, a)', 'recycled_f08: sum ', total, ', ', bad, ' wrong'
    call MPI_Finalize()
    if (bad > 0) stop 1

contains

    subroutine compare
        integer :: j, want
        do j = 1, n * gap
            want = -j
            if (mod(j - 1, gap) == 0 .and. (j - 1) / gap < n) want = a(j)
            if (b(j) /= want) bad = bad + 1
            total = total + int(b(j), 8) * j
        end do
    end subroutine compare
end program recycled
