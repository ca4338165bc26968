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

/** The names that the guide gives the cards, in the order in which they are made. */
const cardNames = ['CARD', 'SECOND', 'THIRD', 'FOURTH', 'FIFTH', 'SIXTH']

test('by the guide, cards are replaced and renewed, and their plastics made and delivered', async () => {
  const program = await serveProgram({
    env: {
      RATE_LIMIT: 'off',
      SANDBOX_CLOCK: '2031-03-15T08:00:00Z',
      SANDBOX_SEED: 'guides',
    },
  })
  const env = { PATH: process.env.PATH, DATA_DIR: program.dataDir }
  const guide = await readFile(join(project, 'docs/guides/lost-stolen-damaged-expired.md'), 'utf8')
  const blocks = [...guide.matchAll(/^```(sh|text)\n([\s\S]*?)^```$/gm)]
  const ids = new Map<string, string>()
  const withIds = (text: string): string =>
    text.replace(/\b(SECOND|THIRD|FOURTH|FIFTH|SIXTH|BATCH|CARD(?! {2}))\b/g, (name) => {
      const id = ids.get(name)
      assert.ok(id, `The guide names ${name} before it is made.`)
      return id
    })
  const printed: string[] = []
  for (const [, kind, text = ''] of blocks) {
    if (kind === 'text') {
      assertPrinted(withIds(text), printed.splice(0).join(''))
      continue
    }
    for (const command of text.replaceAll('\\\n', ' ').split('\n').filter(Boolean)) {
      const words = withIds(command).replace('npx pinfold', `"${process.execPath}" bin/pinfold.mjs`)
      const { stdout } = await run('bash', ['-c', words], { cwd: project, env })
      const [, id = ''] = /^(?:publicToken|batchId) +(\S+)$/m.exec(stdout) ?? []
      if (/ bureau take$/.test(command)) ids.set('BATCH', id)
      if (/ cards (?:create|replace) /.test(command)) ids.set(cardNames.shift() ?? '', id)
      printed.push(stdout)
    }
  }
  assert.deepEqual(printed, [], 'the guide shows what its last commands print')
})

/** Asserts that a text has lines that begin as those of the guide do, in the same order. */
function assertPrinted(expected: string, printed: string): void {
  const lines = printed.split('\n').map(withoutSpaces)
  let from = 0
  for (const line of expected.trimEnd().split('\n').map(withoutSpaces)) {
    const at = lines.findIndex((each, index) => index >= from && each.startsWith(line))
    assert.notEqual(at, -1, `“${line}” is not printed by these commands:\n${printed}`)
    from = at + 1
  }
}

const withoutSpaces = (line: string): string => line.replace(/ +/g, ' ')
