/** Signing in at the command line: a browser, a loopback redirect, and commands as the person. */
import assert from 'node:assert/strict'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { openBrowser } from '../support/browser.ts'
import { until } from '../support/until.ts'
import { launchPinfold, pinfold, startPinfold } from './run-pinfold.ts'
import { type ServedProgram, serveProgram } from './served-program.ts'

suite('with a sandbox that runs', () => {
  let program: ServedProgram
  let env: Readonly<Record<string, string>>
  before(async () => {
    program = await serveProgram()
    env = { DATA_DIR: program.dataDir }
  })
  after(() => program.stop())

  const linkIn = (text: string): string => /^ {2}(http\S+)$/m.exec(text)?.[1] ?? ''

  test('without a sign-in, a command as a person says how to sign in', async () => {
    const { code, stderr } = await pinfold(env, 'keys', 'list', '--as-person')
    assert.equal(code, 2)
    assert.match(stderr, /Run pinfold sign-in/)
  })

  test('following the link signs the person in, and commands may do what the person’s roles allow', async () => {
    const signIn = startPinfold(env, ['sign-in', '--as', 'key-officer'])
    await until(() => linkIn(signIn.stderr()) !== '', 60_000)
    const browser = openBrowser()
    const asked = await browser.visit(linkIn(signIn.stderr()))
    assert.match(asked.text, /asks to act as Kim Keys/)
    const page = await browser.send(asked.url, {})
    assert.match(page.text, /You can close this window/)
    const { code, stdout, stderr } = await signIn.ended
    assert.equal(code, 0, stderr)
    assert.match(stdout, /Signed in as Kim Keys until/)
    assert.ok(!/eyJ/.test(stdout + stderr))
    const file = join(program.dataDir, 'person-token.json')
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    const keys = await launchPinfold(env, 'keys', 'list', '--as-person', '--json')
    assert.equal(keys.code, 0, keys.stderr)
    assert.ok(JSON.parse(keys.stdout).length > 0)
    const refused = await pinfold(env, 'acts', '--as-person', '--json')
    assert.equal(refused.code, 1)
    assert.equal(JSON.parse(refused.stdout).error.code, 'insufficient_scope')
    const cards = await pinfold(env, 'cards', 'list', '--as-person')
    assert.match(cards.stderr, /Unknown option --as-person/)
  })

  test('a token that is over, or no token at all, is as if nobody were signed in', async () => {
    const file = join(program.dataDir, 'person-token.json')
    const over = {
      accessToken: 'secret-token',
      expiresAt: new Date(Date.now() - 1_000).toISOString(),
    }
    for (const content of [JSON.stringify(over), '{"accessToken":"secret-token"', '{}', '']) {
      await writeFile(file, content)
      const { code, stderr, stdout } = await pinfold(env, 'keys', 'list', '--as-person')
      assert.equal(code, 2)
      assert.ok(!(stderr + stdout).includes('secret-token'))
    }
  })

  test('an unrequested answer starts no session', async () => {
    const signIn = startPinfold(env, ['sign-in', '--as', 'auditor'])
    await until(() => linkIn(signIn.stderr()) !== '', 60_000)
    const callback = new URL(linkIn(signIn.stderr())).searchParams.get('redirect_uri')
    await fetch(`${callback}?code=stolen&state=guessed`)
    const { code, stderr } = await signIn.ended
    assert.equal(code, 1)
    assert.match(stderr, /The sign-in failed/)
  })

  test('a name that the sandbox does not have cannot sign in', async () => {
    const { code, stderr } = await pinfold(env, 'sign-in', '--as', 'boss')
    assert.deepEqual([code, /no person with the name boss/.test(stderr)], [2, true])
  })
})
