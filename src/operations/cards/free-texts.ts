import { freeTextSubject } from '../../domain/card-life.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'

/** The client's texts for the bureau, stored sealed with a plastic. */
export interface FreeTexts {
  readonly freetext1?: string
  readonly freetext2?: string
}

/** Seals the client's texts for the bureau; null without any. */
export async function sealFreeTexts(
  hsm: Hsm,
  publicToken: string,
  plasticNumber: number,
  { freetext1, freetext2 }: FreeTexts,
): Promise<Uint8Array | null> {
  if (freetext1 === undefined && freetext2 === undefined) return null
  const texts = JSON.stringify({ freetext1, freetext2 })
  return hsm.sealRecord('personal-data', freeTextSubject(publicToken, plasticNumber), texts)
}

/** Opens the client's texts for the bureau. */
export const revealFreeTexts = async (
  hsm: Hsm,
  publicToken: string,
  plasticNumber: number,
  sealed: Uint8Array,
): Promise<FreeTexts> => {
  const subject = freeTextSubject(publicToken, plasticNumber)
  return JSON.parse(await hsm.revealRecord('personal-data', subject, sealed)) as FreeTexts
}
