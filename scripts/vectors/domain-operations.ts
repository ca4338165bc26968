import { type Expiry, makeExpiry } from '../../src/domain/calendar.ts'
import { binRanges, isLuhnValid, luhnCheckDigit, maskPan } from '../../src/domain/pan.ts'
import { Pin, type WeakPinContext, weakPinRule } from '../../src/domain/pin.ts'
import { type Answer, type Inputs, type Operation, text, UncoveredRow } from './inputs.ts'

/** The operations on PANs and on PINs that are easy to guess: rules of the domain, not cryptography. */
export const domainOperations: Readonly<Record<string, Operation>> = {
  luhnValid: (inputs) => ({ valid: isLuhnValid(text(inputs, 'number')) }),
  checkDigit: (inputs) => ({ digit: luhnCheckDigit(text(inputs, 'body')) }),
  binRange: (inputs) => {
    const range = binRanges.find(({ name }) => name === text(inputs, 'network'))
    if (!range) throw new UncoveredRow()
    return { prefixes: notation(range.prefixes), lengths: notation(range.lengths) }
  },
  isWeak: (inputs) => judge(text(inputs, 'pin'), {}),
  isWeakInContext: (inputs) => judge(text(inputs, 'pin'), context(inputs)),
}

function judge(pin: string, known: WeakPinContext): Answer {
  const broken = weakPinRule(new Pin(pin), known)
  return broken ? { weak: true, reason: broken.name } : { weak: false }
}

function context(inputs: Inputs): WeakPinContext {
  return {
    dateOfBirth: inputs.birthDate === undefined ? undefined : text(inputs, 'birthDate'),
    maskedPan: inputs.pan === undefined ? undefined : maskPan(text(inputs, 'pan')),
    expiry: inputs.expiry === undefined ? undefined : expiryOf(text(inputs, 'expiry')),
  }
}

/** An expiry that the files write as YYMM. */
function expiryOf(yymm: string): Expiry {
  return makeExpiry(2000 + Number(yymm.slice(0, 2)), Number(yymm.slice(2)))
}

function notation(spans: readonly (readonly [string, string])[]): string {
  return spans.map(([low, high]) => (low === high ? low : `${low}-${high}`)).join(',')
}
