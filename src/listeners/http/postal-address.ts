import Type from 'typebox'
import { mayLackPostalCode } from '../../domain/postal-codes.ts'
import type { BodyRule } from './request.ts'
import { closed } from './validation.ts'

const line = (maxLength: number) => Type.String({ minLength: 1, maxLength, format: 'free-text' })

/** An address that plastic is sent to, or the address of a cardholder. */
export const AddressSchema = Type.Object(
  {
    addressLine1: line(100),
    addressLine2: Type.Optional(line(100)),
    addressLine3: Type.Optional(line(50)),
    city: Type.Optional(line(50)),
    state: Type.Optional(line(50)),
    county: Type.Optional(line(20)),
    postCode: Type.String({
      maxLength: 10,
      format: 'plain-text',
      description: 'Empty only in a country without postal codes.',
    }),
    country: Type.String({
      format: 'country-code',
      description: 'ISO 3166-1 alpha-3.',
      examples: ['ESP'],
    }),
  },
  closed,
)

/** A postal code is optional only in countries without postal codes. */
export const requirePostalCode =
  (name: 'address' | 'fulfilment'): BodyRule =>
  ({ [name]: address }) => {
    // The schema rejects other values.
    if (typeof address !== 'object' || address === null) return null
    if (!('postCode' in address && 'country' in address)) return null
    if (address.postCode !== '' || mayLackPostalCode(String(address.country))) return null
    return {
      pointer: `/${name}/postCode`,
      detail: 'must not be empty: the addresses of this country have a postal code',
    }
  }
