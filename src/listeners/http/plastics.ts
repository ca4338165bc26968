import { noPlastic } from '../../domain/delivery.ts'
import { isPublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'

/** Whether a value can be the number of a plastic: 0 to 99. */
const isPlasticNumber = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 99

/** Parses the number of a plastic in a path. @throws `Problem` `not_found` for other texts. */
export function parsePlasticNumber({ params }: { params: { plasticNumber: string } }): number {
  const number = Number(params.plasticNumber)
  if (isPlasticNumber(number) && String(number) === params.plasticNumber) return number
  throw new Problem('not_found', { detail: noPlastic })
}

/** Parses the position of a plastic in a cursor; null for other values. */
export const toPlasticPosition = ([publicToken, plasticNumber]: readonly unknown[]):
  | readonly [string, number]
  | null =>
  isPublicToken(publicToken) && isPlasticNumber(plasticNumber) ? [publicToken, plasticNumber] : null
