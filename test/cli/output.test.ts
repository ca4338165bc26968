import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { line, sheet, table } from '../../src/cli/output.ts'
import { escapeLine, escapeText } from '../../src/domain/terminal-text.ts'
import { formatLine } from '../../src/service/log.ts'
import { shortLived } from '../support/node-flags.ts'
import { bareEnvironment } from '../support/process.ts'

const cli = fileURLToPath(new URL('../../src/cli', import.meta.url))
const launcher = fileURLToPath(new URL('../../bin/pinfold.mjs', import.meta.url))

test('no character reaches a terminal that moves its cursor, changes its colours or turns its text', () => {
  const codes = [
    ...Array.from({ length: 0xa0 }, (_, code) => code).filter(
      (code) => code !== 0x0a && (code < 0x20 || code >= 0x7f),
    ),
    ...[0x061c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069, 0x2028, 0x2029, 0xfeff, 0xe0041],
  ]
  for (const code of codes) {
    const character = String.fromCodePoint(code)
    const escaped = escapeText(`a${character}b\n`)
    assert.match(escaped, /^a(?:\\u[0-9a-f]{4})+b\n$/)
    assert.equal(JSON.parse(`"${escapeLine(character)}"`), character)
  }
  assert.equal(escapeText('a\ud800b'), 'a\\ud800b')
})

test('names of people and symbols are printed as they are', () => {
  for (const text of ['Zoë Łuk', '李明', 'می‌خواهم', 'क्‍ष', '✔ 👍', 'שלום']) {
    assert.equal(escapeText(text), text)
  }
})

test('a foreign text cannot end a line of a table, of a record or of a sentence', () => {
  const foreign = 'a\nb'
  assert.equal(table(['NAME'], [[foreign]]), 'NAME\na\\u000ab')
  assert.equal(sheet({ [foreign]: [foreign] }), 'a\\u000ab  a\\u000ab')
  assert.equal(line`it says ${foreign}\nend`, 'it says a\\u000ab\nend')
})

test('a record is printed one member a line, also those of the records in it', () => {
  const renewal = { plasticNumber: 1, delivery: { status: 'Ordered', at: null } }
  assert.equal(
    sheet({ retired: false, renewal, metadata: {}, types: ['Physical', 'Virtual'] }),
    [
      'retired                  no',
      'renewal.plasticNumber    1',
      'renewal.delivery.status  Ordered',
      'renewal.delivery.at',
      'metadata',
      'types                    Physical,Virtual',
    ].join('\n'),
  )
})

test('a line of the log shows no foreign text that turns the order of what is read', () => {
  const shown = formatLine({ level: 30, time: '2026-11-22T00:00:00Z', msg: 'a\u202eb\u009bc' })
  assert.match(shown, /a\\u202eb\\u009bc\n$/)
})

test('everything that the command line prints goes through one file', async () => {
  const files = await readdir(cli, { recursive: true })
  for (const file of files.filter((each) => each.endsWith('.ts') && each !== 'output.ts')) {
    const source = await readFile(join(cli, file), 'utf8')
    assert.doesNotMatch(
      source,
      /console\.(?:log|error|info|warn)|process\.std(?:out|err)|styleText/,
      file,
    )
  }
})

test('a command whose answer does not fit on the disk fails', {
  skip: !existsSync('/dev/full') && 'this system has no /dev/full',
}, async () => {
  const full = await open('/dev/full', 'w')
  const child = spawn(process.execPath, [...shortLived, launcher, '--help'], {
    env: bareEnvironment,
    stdio: ['ignore', full.fd, 'pipe'],
  })
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const [code] = await once(child, 'close')
  await full.close()
  assert.equal(code, 1)
  assert.equal(said, 'Standard output cannot be written (ENOSPC): the answer is incomplete.\n')
})

test('a command whose reader has read enough does not fail', async () => {
  const child = spawn(process.execPath, [...shortLived, launcher, '--help'], {
    env: bareEnvironment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  const [code] = await once(child, 'close')
  assert.equal(code, 0)
})
