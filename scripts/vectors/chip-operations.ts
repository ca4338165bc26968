import { computeCvc3, computeIvCvc3 } from '../../src/crypto/cvc3.ts'
import { computeArpc1, computeArpc2, computeCryptogram } from '../../src/crypto/emv-cryptogram.ts'
import {
  type CardKeyOption,
  deriveCardKey,
  deriveSessionKey,
  deriveVisaMessagingKey,
  diversifyByAtc,
  diversifyMChip,
} from '../../src/crypto/emv-keys.ts'
import { type MacPadding, padMessage } from '../../src/crypto/emv-mac.ts'
import {
  computeScriptMac,
  encipherScriptData,
  encodePinBlockFormat2,
  encodeVisaPinChange,
  type ScriptEncipherment,
} from '../../src/crypto/emv-scripts.ts'
import { xor } from '../../src/crypto/refusal.ts'
import { encipherTdesEcb } from '../../src/crypto/tdes.ts'
import {
  type ChipProfile,
  chipProfiles,
  composeCryptogramData,
} from '../../src/domain/chip-profile.ts'
import { bytes, type Inputs, numberOr, type Operation, text, UncoveredRow } from './vector-file.ts'

/** The operations on chips: keys, cryptograms, answers, scripts and CVC3. */
export const chipOperations: Readonly<Record<string, Operation>> = {
  iccMasterKeyA: async (inputs) => ({ value: await cardKey(inputs, 'iss_mk', 'A') }),
  iccMasterKeyB: async (inputs) => ({ value: await cardKey(inputs, 'iss_mk', 'B') }),
  emvCommonSessionKey: (inputs) => ({
    value: deriveSessionKey(bytes(inputs, 'icc_mk'), bytes(inputs, 'r')),
  }),
  visaScriptSessionKey: (inputs) => ({
    value: deriveVisaMessagingKey(bytes(inputs, 'icc_mk'), bytes(inputs, 'atc')),
  }),
  applicationCryptogram: (inputs) => ({
    value: computeCryptogram(
      bytes(inputs, 'sk_ac'),
      bytes(inputs, 'data'),
      inputs.padding_type === 'VISA' ? 1 : 2,
    ),
  }),
  arpcMethod1: (inputs) => ({
    value: computeArpc1(bytes(inputs, 'sk_ac'), bytes(inputs, 'arqc'), bytes(inputs, 'arpc_rc')),
  }),
  arpcMethod2: (inputs) => ({
    value: computeArpc2(
      bytes(inputs, 'sk_ac'),
      bytes(inputs, 'arqc'),
      bytes(inputs, 'csu'),
      inputs.prop_auth_data === null ? Buffer.alloc(0) : bytes(inputs, 'prop_auth_data'),
    ),
  }),
  scriptMac: (inputs) => ({
    value: computeScriptMac(bytes(inputs, 'sk_smi'), bytes(inputs, 'command')),
  }),
  scriptPinBlockVisa(inputs) {
    const block = encodeVisaPinChange(bytes(inputs, 'icc_mk_ac'), text(inputs, 'pin'))
    // The chips of the profiles do not ask for a proof of the current PIN.
    const proof = inputs.current_pin === null ? '' : text(inputs, 'current_pin')
    return { value: xor(block, Buffer.from(proof.padEnd(16, '0'), 'hex')) }
  },
  scriptPinBlockIso2: (inputs) => ({ value: encodePinBlockFormat2(text(inputs, 'pin')) }),
  scriptEncipher: (inputs) => ({
    value: encipherScriptData(
      bytes(inputs, 'sk_smc'),
      bytes(inputs, 'command_data'),
      text(inputs, 'encryption_type').toLowerCase() as ScriptEncipherment,
    ),
  }),
  cvc3: (inputs) => ({ value: cvc3(inputs, bytes(inputs, 'icc_cvc3'), 'track_template') }),
  async cvc3FromIssuerKey(inputs) {
    const key = await cardKey(inputs, 'imk_cvc3', option(inputs))
    const whole = cvc3(inputs, key, 'track_data_or_iv')
    // A track has the last three digits.
    return { value: hasStart(inputs) ? whole : whole.slice(-3), whole }
  },
  cryptogramData(inputs) {
    const name = Object.keys(profilesByVersion).find((each) => text(inputs, 'cvn').startsWith(each))
    const profile = profilesByVersion[name ?? '']
    if (!profile) throw new UncoveredRow()
    const tags = Object.entries(inputs).filter(([tag]) => /^[0-9A-F]{2,4}$/.test(tag))
    const data = composeCryptogramData(
      profile,
      new Map(tags.map(([tag]) => [tag, bytes(inputs, tag)])),
    )
    return data ? { value: data, padded: padMessage(data, profile.padding) } : {}
  },
  arqcFromIssuerKey: async (inputs) => {
    const key = await cardKey(inputs, 'imk_ac', option(inputs))
    const padding = numberOr(inputs, 'padding', 2) as MacPadding
    return { value: computeCryptogram(session(inputs, key), bytes(inputs, 'data'), padding) }
  },
  arpcFromIssuerKey: async (inputs) => {
    const card = await cardKey(inputs, 'imk_ac', option(inputs))
    const key = inputs.keyUsed === 'session key' ? session(inputs, card) : card
    return { value: computeArpc1(key, bytes(inputs, 'arqc'), bytes(inputs, 'arc')) }
  },
}

const profilesByVersion: Readonly<Record<string, ChipProfile>> = {
  CVN10: chipProfiles['visa-cvn10'],
  CVN18: chipProfiles['visa-cvn18'],
  CVN22: chipProfiles['visa-cvn22'],
  CPA: chipProfiles.cpa,
}

const option = (inputs: Inputs): CardKeyOption => text(inputs, 'mkd') as CardKeyOption

const cardKey = (inputs: Inputs, name: string, option: CardKeyOption): Promise<Buffer> =>
  deriveCardKey(
    option,
    { encipher: async (blocks) => encipherTdesEcb(bytes(inputs, name), blocks) },
    {
      pan: text(inputs, 'pan'),
      panSequenceNumber: inputs.psn === null ? '00' : text(inputs, 'psn'),
    },
  )

function session(inputs: Inputs, cardKey: Buffer): Buffer {
  const atc = bytes(inputs, 'atc')
  if (inputs.skd === 'VSDC(none)') return cardKey
  if (inputs.skd === 'MCHIP') {
    return deriveSessionKey(cardKey, diversifyMChip(atc, bytes(inputs, 'un')))
  }
  if (inputs.skd === 'EMV_CSKD') return deriveSessionKey(cardKey, diversifyByAtc(atc))
  throw new UncoveredRow()
}

/** Whether a row gives the start value of a CVC3, and not a track. */
const hasStart = ({ track_data_or_iv: given }: Inputs): boolean =>
  typeof given === 'string' && given.startsWith('IVCVC3 ')

/** The CVC3 of a track, or of the start value that a row gives as `IVCVC3 CD76`. */
function cvc3(inputs: Inputs, key: Buffer, trackName: string): string {
  const track = text(inputs, trackName).replace('IVCVC3 ', '')
  const given = Buffer.from(track, 'hex')
  const iv = hasStart(inputs) ? given : computeIvCvc3(key, given)
  return computeCvc3(key, iv, bytes(inputs, 'un'), bytes(inputs, 'atc'))
}
