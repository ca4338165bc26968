import assert from 'node:assert/strict'
import test from 'node:test'
import {
  type ChipReport,
  composeApplicationData,
  parseApplicationData,
} from '../../src/domain/chip-application-data.ts'
import { type ChipProfileName, chipProfiles } from '../../src/domain/chip-profile.ts'

const names = Object.keys(chipProfiles) as ChipProfileName[]

const quiet: ChipReport = {
  derivationKeyIndex: 1,
  kind: 'request',
  isOfflinePinPerformed: false,
  isOfflinePinFailed: false,
  isOfflinePinBlocked: false,
  remainingOfflineTries: null,
  processedCommands: 0,
  hasFailedCommand: false,
  isLastOnlineIncomplete: false,
}

for (const name of names) {
  const profile = chipProfiles[name]
  const hasCompletion = profile.applicationData.commands.lastOnlineIncomplete !== null
  const hasTries = profile.applicationData.offlinePin.remainingTries !== null

  test(`each report of a chip is read as it was composed: ${name}`, () => {
    for (let bits = 0; bits < 16; bits += 1) {
      const isOfflinePinBlocked = (bits & 4) !== 0
      const report = {
        derivationKeyIndex: 0xc3,
        kind: (['request', 'approval', 'decline'] as const)[bits % 3] ?? 'request',
        isOfflinePinPerformed: (bits & 1) !== 0,
        isOfflinePinFailed: (bits & 2) !== 0,
        isOfflinePinBlocked,
        remainingOfflineTries: isOfflinePinBlocked ? 0 : hasTries ? 2 : null,
        processedCommands: bits,
        hasFailedCommand: (bits & 8) !== 0,
        isLastOnlineIncomplete: hasCompletion ? bits % 5 === 0 : null,
      }
      const composed = composeApplicationData(profile, report)
      assert.deepEqual(parseApplicationData(profile, composed), report)
    }
  })

  test(`data of other profiles and of other lengths are refused: ${name}`, () => {
    for (const other of names) {
      const composed = composeApplicationData(chipProfiles[other], quiet)
      assert.equal(parseApplicationData(profile, composed) !== null, other === name, other)
    }
    const { least, most } = profile.applicationData.lengths
    const long = Buffer.concat([composeApplicationData(profile, quiet), Buffer.alloc(33)])
    for (const length of [0, least - 1, most + 1]) {
      assert.equal(parseApplicationData(profile, long.subarray(0, length)), null, `${length}`)
    }
  })
}

test('bits are where the specifications have them', () => {
  const report = { ...quiet, remainingOfflineTries: 2 }
  const failed = { ...report, isOfflinePinPerformed: true, isOfflinePinFailed: true }
  const compose = (name: ChipProfileName, of: ChipReport) =>
    composeApplicationData(chipProfiles[name], of).toString('hex').slice(0, 16)
  assert.deepEqual(
    names.map((name) => compose(name, failed)),
    ['06010a03a60000', '06011203a60000', '1f2201a02c000000'].concat([
      '0110a40002100000',
      '0114a40002100000',
      '0111a40002100000',
      '0115a40002100000',
      '0fa501a02c000000',
    ]),
  )
  const blocked = { ...quiet, isOfflinePinBlocked: true, hasFailedCommand: true }
  assert.deepEqual(
    names.map((name) => compose(name, { ...blocked, processedCommands: 3 })),
    ['06010a03a04038', '06011203a04038', '1f2201a002003800'].concat([
      '0110a00030080100',
      '0114a00030080100',
      '0111a00030080100',
      '0115a00030080100',
      '0fa501a002003800',
    ]),
  )
  assert.deepEqual(
    names.map((name) => compose(name, { ...quiet, isLastOnlineIncomplete: true })),
    ['06010a03a08000', '06011203a08000', '1f2201a001000000'].concat([
      '0110a00000000000',
      '0114a00000000000',
      '0111a00000000000',
      '0115a00000000000',
      '0fa501a001000000',
    ]),
  )
  assert.deepEqual(
    names.map((name) => compose(name, { ...quiet, kind: 'decline' })),
    ['06010a03800000', '06011203800000', '1f22018000000000'].concat([
      '0110800000000000',
      '0114800000000000',
      '0111800000000000',
      '0115800000000000',
      '0fa5018000000000',
    ]),
  )
})

test('the kind of the second cryptogram of a transaction counts, once there is one', () => {
  const kinds = { A0: 'request', 90: 'approval', 80: 'decline', 60: 'approval', 20: 'decline' }
  for (const [byte, kind] of Object.entries(kinds)) {
    const visa = Buffer.from(`06011203${byte}0000`, 'hex')
    assert.equal(parseApplicationData(chipProfiles['visa-cvn18'], visa)?.kind, kind, byte)
    const mastercard = Buffer.from(`0114${byte}0000000000${'00'.repeat(10)}`, 'hex')
    assert.equal(parseApplicationData(chipProfiles['mastercard-20'], mastercard)?.kind, kind, byte)
  }
  for (const byte of ['B0', 'F0', 'E0', 'C0']) {
    const visa = Buffer.from(`06011203${byte}0000`, 'hex')
    assert.equal(parseApplicationData(chipProfiles['visa-cvn18'], visa), null, byte)
  }
})

test('data of the Common Payment Application have the second length of format A', () => {
  const published = '0FA500A03800000000000000000000000F010000000000000000000000000000'
  assert.ok(parseApplicationData(chipProfiles.cpa, Buffer.from(published, 'hex')))
  const other = Buffer.from(published, 'hex')
  other[16] = 0
  assert.equal(parseApplicationData(chipProfiles.cpa, other), null)
})
