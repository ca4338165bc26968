import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { serveProgram } from '../cli/served-program.ts'

const project = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

test('by the guide, a blocked chip or application works again, and takes another PIN', async () => {
  const program = await serveProgram({ env: { RATE_LIMIT: 'off', SANDBOX_SEED: 'guides' } })
  const env = { PATH: process.env.PATH, DATA_DIR: program.dataDir }
  const sh = async (command: string): Promise<string> => {
    const words = command.replaceAll('npx pinfold', `"${process.execPath}" bin/pinfold.mjs`)
    const { stdout } = await run('bash', ['-c', words], { cwd: project, env })
    return stdout
  }
  const file = join(project, 'docs/guides/from-a-blocked-chip-to-a-working-one.md')
  const guide = await readFile(file, 'utf8')
  const [create = '', ...commands] = [...guide.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(
    ([, text = '']) =>
      text
        .replaceAll('\\\n', ' ')
        .split('\n')
        .filter((line) => line !== ''),
  )
  const [card = ''] = /[1-9][0-9]{9}/.exec(await sh(create)) ?? []

  /** What each command prints, in the order of the guide. */
  const due: readonly RegExp[] = [
    /./,
    /./,
    /remainingOfflineTries +3/,
    /^Approved, response code 00\.[\s\S]*PIN in the chip: right, 3 tries left/,
    /wrong, 2 tries left/,
    /wrong, 1 tries left/,
    /wrong, 0 tries left/,
    /^Declined, response code 75\./,
    /./,
    /Remaining tries: 3\.[\s\S]*pending/,
    /^Declined, response code 75\.[\s\S]*Chip command [0-9]+: done/,
    /sent/,
    /^Approved, response code 00\.[\s\S]*PIN in the chip: right/,
    /done/,
    /./,
    /wrong, 2 tries left/,
    /^Approved, response code 00\.[\s\S]*Chip command [0-9]+: done/,
    /^Approved, response code 00\.[\s\S]*PIN in the chip: right, 3 tries left/,
    /done/,
    /./,
    /^Approved, response code 00\.[\s\S]*Chip command [0-9]+: done/,
    /^Declined, response code 57\./,
    /./,
    /^Declined, response code 57\.[\s\S]*Chip command [0-9]+: done/,
    /^Approved, response code 00\./,
  ]
  assert.equal(commands.length, due.length)
  for (const [at, command] of commands.entries()) {
    const printed = await sh(command.replace('CARD', card))
    assert.match(printed, due[at] ?? /^$/, `${command}\n${printed}`)
  }
})
