import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { ConfigError, readConfig } from '../../src/config.ts'
import { callerAddresses, networkOf, plainAddress } from '../../src/http/caller-address.ts'

const callers = callerAddresses(['10.0.0.0/8', 'fd00::/8'])

/** What a request from a peer, with this `X-Forwarded-For`, is taken to come from. */
const addressOf = (peer: string, forwarded?: string): string => {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return callers.addressOf({
    socket: { remoteAddress: peer } as IncomingMessage['socket'],
    headers,
  })
}

test('of a peer that is no trusted proxy no header is believed', () => {
  for (const forwarded of [undefined, '198.51.100.7', '10.0.0.1', '198.51.100.7, 10.0.0.1']) {
    assert.equal(addressOf('203.0.113.5', forwarded), '203.0.113.5')
    assert.equal(addressOf('2001:db8::5', forwarded), '2001:db8::5')
  }
})

test('behind trusted proxies it is the last address that none of them has, whatever a caller wrote before it', () => {
  assert.equal(addressOf('10.0.0.1', '198.51.100.7'), '198.51.100.7')
  assert.equal(addressOf('10.0.0.1', '192.0.2.1, 198.51.100.7'), '198.51.100.7')
  assert.equal(addressOf('10.0.0.1', '192.0.2.1, 198.51.100.7 ,10.9.9.9'), '198.51.100.7')
  assert.equal(addressOf('::ffff:10.0.0.1', '198.51.100.7'), '198.51.100.7')
  assert.equal(addressOf('fd12::1', '2001:DB8:0:0::7, 10.1.2.3'), '2001:db8::7')
  assert.equal(addressOf('10.0.0.1', '10.0.0.3, 10.0.0.2'), '10.0.0.3')
  assert.equal(addressOf('10.0.0.1'), '10.0.0.1')
})

test('what is no address is not gone past: the proxy that handed it on answers for it', () => {
  for (const broken of [
    '',
    'unknown',
    '_hidden',
    '1.2.3',
    '198.51.100.7.1',
    '0x7f.1',
    '[::1',
    'a:b',
  ]) {
    assert.equal(addressOf('10.0.0.1', `198.51.100.7, ${broken}`), '10.0.0.1', broken)
    assert.equal(addressOf('10.0.0.1', `198.51.100.7, ${broken}, 10.0.0.2`), '10.0.0.2', broken)
  }
})

test('an address has one form, with a port, a zone, brackets or as IPv4 mapped into IPv6', () => {
  const forms: Readonly<Record<string, string>> = {
    '198.51.100.7:4711': '198.51.100.7',
    '::ffff:198.51.100.7': '198.51.100.7',
    '::FFFF:c633:6407': '198.51.100.7',
    '::ffff:0:1': '0.0.0.1',
    '[2001:db8::1]:443': '2001:db8::1',
    '[2001:db8::1]': '2001:db8::1',
    'fe80::1%eth0': 'fe80::1',
    '2001:0DB8:0000:0:0::1': '2001:db8::1',
  }
  for (const [given, plain] of Object.entries(forms))
    assert.equal(plainAddress(given), plain, given)
})

test('in IPv6 the /64 is charged, in IPv4 the address', () => {
  assert.equal(networkOf('198.51.100.7'), '198.51.100.7')
  for (const address of ['2001:db8:1:2::', '2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff']) {
    assert.equal(networkOf(address), '2001:db8:1:2::/64')
  }
  assert.equal(networkOf('2001:db8::1'), '2001:db8:0:0::/64')
  assert.equal(networkOf('::1'), '0:0:0:0::/64')
  assert.equal(networkOf('2001::1:2:3:4:5'), '2001:0:0:1::/64')
})

test('trusted proxies are blocks of addresses, and never half of everybody', () => {
  const trusted = (text: string) => readConfig({ TRUSTED_PROXIES: text }).network.trustedProxies
  assert.deepEqual(trusted('10.0.0.0/8, fd00::/8,192.0.2.1'), [
    '10.0.0.0/8',
    'fd00::/8',
    '192.0.2.1',
  ])
  for (const wrong of [
    'proxy',
    '10.0.0.0/33',
    '10.0.0.0/8,',
    '0.0.0.0/0',
    '10.0.0.1,::/0',
    '0.0.0.0/1,128.0.0.0/1',
    '::ffff:0:0/96',
    '::/8',
    'true',
  ]) {
    assert.throws(
      () => trusted(wrong),
      (error) => error instanceof ConfigError && error.message.includes('TRUSTED_PROXIES must be'),
      wrong,
    )
  }
})
