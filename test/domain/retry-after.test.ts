import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRetryAfter } from '../../src/domain/retry-after.ts'

const now = new Date('1994-11-06T08:49:30Z')

for (const [text, seconds] of [
  ['120', 120],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 7],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 7],
  ['Sun Nov  6 08:49:37 1994', 7],
  ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
  ['tomorrow', null],
  ['1994-11-06T08:49:37Z', null],
  ['-1', null],
] as const) {
  test(`a receiver that says ${text} is left alone for ${seconds} seconds, in any time zone`, () => {
    const zone = process.env.TZ
    process.env.TZ = 'America/New_York'
    try {
      assert.equal(parseRetryAfter(text, now), seconds)
    } finally {
      if (zone === undefined) delete process.env.TZ
      else process.env.TZ = zone
    }
  })
}
