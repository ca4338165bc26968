import type { Hsm } from '../../hsm/contract/hsm.ts'

/** The personal data of a cardholder, stored sealed as one record. */
export interface PersonalData {
  readonly embossName: string
  readonly cardHolder: CardHolder
  readonly address: Address
  readonly fulfilment?: Address
}

/** The cardholder. */
export interface CardHolder {
  readonly title?: string
  readonly firstName: string
  readonly middleName?: string
  readonly lastName: string
  /** `YYYY-MM-DD`. */
  readonly dateOfBirth: string
  readonly mobile?: string
  readonly email?: string
}

/** A postal address. */
export interface Address {
  readonly addressLine1: string
  readonly addressLine2?: string
  readonly addressLine3?: string
  readonly city?: string
  readonly state?: string
  readonly county?: string
  readonly postCode: string
  /** ISO 3166-1 alpha-3. */
  readonly country: string
}

/** Seals the personal data of a cardholder. It opens with the token of its card only. */
export const sealPersonalData = (
  hsm: Hsm,
  publicToken: string,
  personalData: PersonalData,
): Promise<Uint8Array> => hsm.sealRecord('personal-data', publicToken, JSON.stringify(personalData))

/** Opens the personal data of a cardholder that was sealed with this token. */
export const revealPersonalData = async (
  hsm: Hsm,
  publicToken: string,
  sealed: Uint8Array,
): Promise<PersonalData> =>
  JSON.parse(await hsm.revealRecord('personal-data', publicToken, sealed)) as PersonalData
