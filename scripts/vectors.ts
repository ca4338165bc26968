import { runVectors, tallyLine } from './vectors/run-vectors.ts'

// npm run vectors -- [DIR …]
const directories = process.argv.slice(2)
const tally = await runVectors(directories.length > 0 ? directories : ['test/vectors'], console.log)
console.log(tallyLine(tally))
process.exitCode = tally.failed > 0 ? 1 : 0
