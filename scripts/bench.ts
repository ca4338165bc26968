/** `npm run bench -- NAME …`: runs a measurement of bench/, with its own options after its name. */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../bench/', import.meta.url))

/** The text of a file without the line breaks inside its comments. */
const readComments = (file: string): string =>
  readFileSync(join(folder, file), 'utf8').replace(/\n \* ?/g, ' ')

/**
 * The first comment of a measurement describes its use; the other files of the folder are its
 * parts.
 */
const names = globSync('*.ts', { cwd: folder })
  .map((file) => basename(file, '.ts'))
  .filter((name) => readComments(`${name}.ts`).includes(`npm run bench -- ${name}`))
  .sort()

const [name = '', ...words] = process.argv.slice(2)
const file = join(folder, `${name}.ts`)
if (names.includes(name) && existsSync(file)) {
  const { status } = spawnSync(process.execPath, [file, ...words], { stdio: 'inherit' })
  process.exitCode = status ?? 1
} else {
  console.error(`Name one of: ${names.join(', ')}.`)
  process.exitCode = 2
}
