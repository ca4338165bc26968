/** What all test files share: `node --test --test-global-setup=test/support/global-setup.ts …`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { emptyPgliteImage } from './pglite-image.ts'
import { sharePostgres } from './postgres.ts'

// Every test file and every program that one starts reads the same sources: they are compiled once.
const compileCache = await mkdtemp(join(tmpdir(), 'pinfold-compiled-'))
process.env.NODE_COMPILE_CACHE = compileCache

// Programs that are killed leave nothing compiled: this one ends by itself, of a port that is none.
const compile = async (): Promise<void> => {
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
  const env = { ...process.env, PORT: 'none' }
  await once(spawn(process.execPath, [main], { env, stdio: 'ignore' }), 'exit')
}

const [postgres] = await Promise.all([sharePostgres(), emptyPgliteImage(), compile()])
if (postgres.leftOut) console.log(postgres.leftOut)

export const globalTeardown = async (): Promise<void> => {
  await postgres.stop()
  await rm(compileCache, { recursive: true, force: true })
}
