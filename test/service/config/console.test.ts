/** Which roles the groups of an issuer have, as the environment says it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig } from '../../../src/service/config/config.ts'

const sound = {
  CONSOLE_ISSUER: 'https://people.test/realms/staff/',
  CONSOLE_CLIENT_ID: 'pinfold',
  CONSOLE_CLIENT_SECRET_FILE: '/run/secrets/console',
  CONSOLE_ROLES: 'viewer=all',
}

const parse = (changes: Readonly<Record<string, string>>) =>
  parseConfig({ SANDBOX: 'true', ...sound, ...changes })

const rolesBy = (text: string) => {
  const { config, faults } = parse({ CONSOLE_ROLES: text })
  return faults.length > 0 ? null : Object.fromEntries(config.console.issuer?.rolesOfGroups ?? [])
}

test('each group has the roles that name it, one or several', () => {
  assert.deepEqual(rolesBy('support=desk,night;support-lead=night ; auditor = audit;'), {
    desk: ['support'],
    night: ['support', 'support-lead'],
    audit: ['auditor'],
  })
  assert.deepEqual(rolesBy('viewer=CN%3Ddesk%2COU%3Dops%3B%25'), { 'CN=desk,OU=ops;%': ['viewer'] })
  assert.deepEqual(rolesBy('viewer=/ops/Büro 7'), { '/ops/Büro 7': ['viewer'] })
})

test('roles that are not said as they must be are a fault, and none of them is given', () => {
  for (const text of [
    ...['', ';', 'viewer', 'viewer=', 'viewer=,', 'viewer=a,', '=a', 'boss=a', 'Viewer=a'],
    ...['viewer=a=b', 'viewer=%', 'viewer=%zz', 'viewer=%ff', 'viewer=a;constructor=b'],
  ]) {
    assert.equal(rolesBy(text), null, text)
  }
})

test('a console without all that it needs is a fault that names the variable', () => {
  const faultOf = (changes: Readonly<Record<string, string>>) => parse(changes).faults.join(' ')
  assert.equal(faultOf({}), '')
  assert.match(faultOf({ CONSOLE_CLIENT_ID: '' }), /CONSOLE_ISSUER requires CONSOLE_CLIENT_ID/)
  for (const file of ['', '/run/secrets/jwk']) {
    const changes = { CONSOLE_CLIENT_SECRET_FILE: file && '/a', CONSOLE_CLIENT_JWK_FILE: file }
    assert.match(faultOf(changes), /CONSOLE_CLIENT_SECRET_FILE and CONSOLE_CLIENT_JWK_FILE/)
  }
  assert.match(
    faultOf({ CONSOLE_ISSUER: 'people.test' }),
    /CONSOLE_ISSUER must be an http or https/,
  )
  assert.match(faultOf({ CONSOLE_READ_ONLY: 'true' }), /CONSOLE_READ_ONLY must be one of yes, no/)
})

test('an issuer is kept to the letter, and without one there is none', () => {
  assert.equal(parse({}).config.console.issuer?.issuer, sound.CONSOLE_ISSUER)
  assert.equal(parse({}).config.console.issuer?.groupsClaim, 'groups')
  assert.deepEqual(parseConfig({ SANDBOX: 'true' }).config.console, {
    issuer: null,
    readOnly: false,
  })
})
