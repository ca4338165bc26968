import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { serveProgram } from '../cli/served-program.ts'
import { bareEnvironment, makeFolder } from '../support/process.ts'
import { freePort } from '../support/switch.ts'

const launcher = fileURLToPath(new URL('../../bin/pinfold.mjs', import.meta.url))

const readGuide = (name: string): Promise<string> =>
  readFile(new URL(`../../docs/guides/${name}`, import.meta.url), 'utf8')

/** The fenced blocks of a kind, each with the name of its file. */
const blocksOf = (guide: string, kind: string): { file: string; text: string }[] =>
  [...guide.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm)]
    .filter(([, each]) => each === kind)
    .map(([, , file = '', text = '']) => ({ file, text }))

/** A folder where the data of the service is `.data`, as in a clone. */
async function makeClone(dataDir: string): Promise<string> {
  const folder = await makeFolder()
  await symlink(dataDir, join(folder, '.data'))
  return folder
}

const paste = async (script: string, cwd: string) => {
  const command = script.replaceAll('npx pinfold', `"${process.execPath}" "${launcher}"`)
  const { stdout } = await promisify(execFile)(
    'bash',
    ['--norc', '-euo', 'pipefail', '-c', command],
    { cwd, env: { ...bareEnvironment, PATH: `${dirname(process.execPath)}:${process.env.PATH}` } },
  )
  return stdout
}

test('the guide to authorization requests blocks a PIN', async () => {
  const program = await serveProgram()
  const [script] = blocksOf(await readGuide('send-authorizations.md'), 'sh')
  const printed = await paste(script?.text ?? '', await makeClone(program.dataDir))
  const codes = [...printed.matchAll(/"responseCode":"(\w+)"/g)].map(([, code]) => code)
  assert.deepEqual(codes, ['00', '55', '55', '55', '75'])
})

test('the guide to declines prints each reason that it shows', async () => {
  const program = await serveProgram()
  const guide = await readGuide('why-was-it-declined.md')
  const script = blocksOf(guide, 'sh').map(({ text }) => text)
  const printed = await paste(script.join('\n'), await makeClone(program.dataDir))
  for (const { text } of blocksOf(guide, 'text')) assert.ok(printed.includes(text), printed)
  assert.match(printed, /Declined 86 pin_missing/)
})

test('the guide to a switch leads to a link with a profile of its own', async () => {
  const guide = await readGuide('connect-a-switch.md')
  const profiles = await makeFolder()
  for (const { file, text } of blocksOf(guide, 'json')) {
    await writeFile(join(profiles, file.replace('profiles/', '')), text)
  }
  const program = await serveProgram({
    env: { LINK_PORT: String(await freePort()), LINK_PROFILES_DIR: profiles, RATE_LIMIT: 'off' },
  })
  const folder = await makeClone(program.dataDir)
  await symlink(profiles, join(folder, 'profiles'))
  const [one, other] = [String(await freePort()), String(await freePort())]
  const script = blocksOf(guide, 'sh')
    .map(({ text }) => text)
    .join('')
    .replaceAll('8600', one)
    .replaceAll('8601', other)
  const printed = await paste(script, folder)
  assert.equal(printed.match(/^✔ 00 sign-on$/gm)?.length, 3, printed)
  assert.equal(printed.match(/^✔ 00 a purchase with the right PIN$/gm)?.length, 3, printed)
  assert.doesNotMatch(printed, /^✘/m)
})
