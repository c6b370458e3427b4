# Distance correlation by the energy package: Rscript energy.R FOLDER REPEATS prints the seconds of each repeat.
given <- commandArgs(trailingOnly = TRUE)
read <- function(name) as.matrix(read.csv(file.path(given[1], name), header = FALSE))
a <- as.vector(read("a.csv")) + 1
b <- as.vector(read("b.csv")) + 1
distances_a <- read("distances_a.csv")
distances_b <- read("distances_b.csv")
run <- function() energy::dcor(as.dist(distances_a[a, a]), as.dist(distances_b[b, b]))
result <- run()
seconds <- replicate(as.integer(given[2]), system.time(run())[["elapsed"]])
cat(sprintf('{"seconds": [%s], "result": %.15g}\n', paste(sprintf("%.6f", seconds), collapse = ", "), result))
