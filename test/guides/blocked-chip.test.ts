import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { serveProgram } from '../cli/served-program.ts'
import { freePort } from '../support/switch.ts'

const project = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

test('by the guide, a blocked chip or application works again, and takes another PIN', async () => {
  const LINK_PORT = String(await freePort())
  const program = await serveProgram({
    env: { LINK_PORT, RATE_LIMIT: 'off', SANDBOX_SEED: 'guides' },
  })
  const env = { PATH: process.env.PATH, DATA_DIR: program.dataDir, LINK_PORT }
  const sh = async (command: string): Promise<string> => {
    const words = command.replaceAll('npx pinfold', `"${process.execPath}" bin/pinfold.mjs`)
    const { stdout } = await run('bash', ['-c', words], { cwd: project, env })
    return stdout
  }
  const file = join(project, 'docs/guides/from-a-blocked-chip-to-a-working-one.md')
  const guide = await readFile(file, 'utf8')
  const blocks = [...guide.matchAll(/^```(sh|text)\n([\s\S]*?)^```$/gm)]
  const printed: string[] = []
  /** What the words of the guide stand for here. */
  const found = { CARD: '', AUTHORIZATION: '' }
  for (const [, kind, text = ''] of blocks) {
    if (kind === 'text') {
      assertPrinted(text.replaceAll('CARD', found.CARD), printed.splice(0).join(''))
      continue
    }
    for (const command of text.replaceAll('\\\n', ' ').split('\n').filter(Boolean)) {
      const output = await sh(
        command.replace('AUTHORIZATION', found.AUTHORIZATION).replace('CARD', found.CARD),
      )
      found.CARD ||= /^publicToken +([0-9]{10})$/m.exec(output)?.[1] ?? ''
      found.AUTHORIZATION = /authorizations show (\S+)$/m.exec(output)?.[1] ?? found.AUTHORIZATION
      printed.push(output)
    }
  }
  assert.deepEqual(printed, [], 'the guide shows what its last commands print')
})

/** Asserts that a text has lines that begin as those of the guide do, in the same order. */
function assertPrinted(expected: string, printed: string): void {
  const lines = printed.split('\n').map(withoutIds)
  let from = 0
  for (const line of expected.trimEnd().split('\n').map(withoutIds)) {
    const at = lines.findIndex((each, index) => index >= from && each.startsWith(line))
    assert.notEqual(at, -1, `“${line}” is not printed by these commands:\n${printed}`)
    from = at + 1
  }
}

/** Without identifiers and the numbers of commands. */
const withoutIds = (line: string): string =>
  line
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}/, 'ID')
    .replace(/^(Command |Chip command |)[0-9]+\b/, '$1N')
    .replace(/ +/g, ' ')
