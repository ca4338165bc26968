import { cvv2ServiceCode, generateCvv } from '../../src/crypto/cvv.ts'
import { generatePvv } from '../../src/crypto/pvv.ts'
import { type Expiry, makeExpiry } from '../../src/domain/calendar.ts'
import { binRanges, isLuhnValid, luhnCheckDigit, maskPan } from '../../src/domain/pan.ts'
import { Pin, type WeakPinContext, weakPinRule } from '../../src/domain/pin.ts'
import { clearBlockKey, clearCvkPair } from '../../test/reference/keys.ts'
import {
  decimalise,
  generateCavv,
  generateNaturalPin,
  generatePinOffset,
  type Ibm3624Inputs,
  normalisePanForCavv,
  pinFromOffset,
  validationDataOfPan,
} from '../../test/reference/verification-values.ts'
import {
  type Answer,
  bytes,
  type Inputs,
  numberOr,
  type Operation,
  text,
  UncoveredRow,
} from './vector-file.ts'

/** The service code of an iCVV, the value in the chip's track 2 equivalent data. */
const icvvServiceCode = '999'

/** The operations on card verification values, PVV and IBM 3624 PINs. */
export const cardOperations: Readonly<Record<string, Operation>> = {
  cvv: async (inputs) => ({
    cvv: await generateCvv(clearCvkPair(bytes(inputs, 'cvk')), {
      pan: text(inputs, 'pan'),
      expiry: text(inputs, 'expiry'),
      serviceCode: text(inputs, 'serviceCode'),
      length: numberOr(inputs, 'length', 3),
    }),
  }),
  cavv3ds: async (inputs) => ({
    panNormalised: normalisePanForCavv(text(inputs, 'pan')),
    cvv: await generateCavv(bytes(inputs, 'cvk'), {
      pan: text(inputs, 'pan'),
      trackingNumber: text(inputs, 'atn'),
      serviceCode: text(inputs, 'serviceCode'),
      length: numberOr(inputs, 'length', 3),
    }),
  }),
  convention: (inputs) => ({
    convention: inputs.cvv2 === cvv2ServiceCode && inputs.icvv === icvvServiceCode,
  }),
  pvv: async (inputs) => ({
    pvv: await generatePvv(clearBlockKey('TDES', bytes(inputs, 'pvk')), {
      pan: text(inputs, 'pan'),
      pvki: text(inputs, 'pvki'),
      pin: text(inputs, 'pin'),
    }),
  }),
  naturalPin: (inputs) => ({
    pin: generateNaturalPin(
      bytes(inputs, 'pvk'),
      ibm3624(inputs),
      numberOr(inputs, 'pinLength', 4),
    ),
  }),
  offset: (inputs) => ({
    offset: generatePinOffset(bytes(inputs, 'pvk'), ibm3624(inputs), text(inputs, 'pin')),
  }),
  pinFromOffset: (inputs) => ({
    pin: pinFromOffset(bytes(inputs, 'pvk'), ibm3624(inputs), text(inputs, 'offset')),
  }),
  decimalise: (inputs) => ({
    pin: decimalise(bytes(inputs, 'encrypted'), table(inputs), numberOr(inputs, 'pinLength', 4)),
  }),
}

/** The default table of a row: 0 to 9, and A to F as 0 to 5. */
const table = (inputs: Inputs): string =>
  text({ decimalisationTable: '0123456789012345', ...inputs }, 'decimalisationTable')

function ibm3624(inputs: Inputs): Ibm3624Inputs {
  const { pad } = { pad: 'F', ...inputs }
  const validationData =
    inputs.validationData === undefined
      ? validationDataOfPan(text(inputs, 'pan'), text({ pad }, 'pad'))
      : text(inputs, 'validationData')
  return { validationData, decimalisationTable: table(inputs) }
}

/** The operations on PANs and on weak PINs: rules of the domain, not cryptography. */
export const domainOperations: Readonly<Record<string, Operation>> = {
  luhnValid: (inputs) => ({ valid: isLuhnValid(text(inputs, 'number')) }),
  checkDigit: (inputs) => ({ digit: luhnCheckDigit(text(inputs, 'body')) }),
  binRange: (inputs) => {
    const range = binRanges.find(({ name }) => name === text(inputs, 'network'))
    if (!range) throw new UncoveredRow()
    return { prefixes: notation(range.prefixes), lengths: notation(range.lengths) }
  },
  isWeak: (inputs) => describeWeakness(text(inputs, 'pin'), {}),
  isWeakInContext: (inputs) => describeWeakness(text(inputs, 'pin'), context(inputs)),
}

function describeWeakness(pin: string, known: WeakPinContext): Answer {
  const broken = weakPinRule(new Pin(pin), known)
  return broken ? { weak: true, reason: broken.name } : { weak: false }
}

function context(inputs: Inputs): WeakPinContext {
  return {
    dateOfBirth: inputs.birthDate === undefined ? undefined : text(inputs, 'birthDate'),
    maskedPan: inputs.pan === undefined ? undefined : maskPan(text(inputs, 'pan')),
    expiry: inputs.expiry === undefined ? undefined : parseExpiry(text(inputs, 'expiry')),
  }
}

/** Parses an expiry in the files' form YYMM. */
function parseExpiry(yymm: string): Expiry {
  return makeExpiry(2000 + Number(yymm.slice(0, 2)), Number(yymm.slice(2)))
}

function notation(spans: readonly (readonly [string, string])[]): string {
  return spans.map(([low, high]) => (low === high ? low : `${low}-${high}`)).join(',')
}
