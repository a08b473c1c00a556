await BenchProgram.main()
