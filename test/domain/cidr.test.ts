import assert from 'node:assert/strict'
import test from 'node:test'
import { isCidr } from '../../src/domain/identifiers.ts'

test('an address of either family, alone or with as many bits as it has, is a block', () => {
  const blocks = [
    ...['10.0.0.0/8', '0.0.0.0/0', '255.249.199.99', '192.168.1.10/32', '1.2.3.4/19'],
    ...['::1', '::/0', 'fd00::/8', 'FE80::1/128', '::ffff:10.0.0.1/120', '2001:db8:0:1:2:3:4:5/64'],
  ]
  for (const block of blocks) assert.equal(isCidr(block), true, block)
})

test('what is no address, and more bits than the family has, is no block', () => {
  const texts = [
    ...['', '/8', '10', '10.0.0', '10.0.0.0.0', '10.0.0.0.', '10.0.0.', '.10.0.0.0', 'x10.0.0.0'],
    ...[
      '256.0.0.0',
      '1.260.0.0',
      '1.300.0.0',
      '01.2.3.4',
      '1.2.3.4x',
      '1.2.3.a',
      '1..2.3',
      '-1.2.3.4',
    ],
    ...['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/08', '10.0.0.0/a', '10.0.0.0/8x'],
    ...['10.0.0.0/x8', '10.0.0.0/-1', '10.0.0.0/1.5', '::1/129', '::1/1280', '::1::', ':', 'fd00'],
    ...[
      'g::1',
      '::1]',
      '::1]?',
      '::1]?a',
      '::1%eth0',
      '::1/64/',
      ' ::1',
      'localhost',
      '[::1]',
      'host:80',
    ],
  ]
  for (const text of texts) assert.equal(isCidr(text), false, text)
})
