import { randomInt } from 'node:crypto'
import { isPublicToken, type PublicToken } from '../../domain/identifiers.ts'
import type { CardNumber } from '../../hsm/contract/card.ts'
import { isNumberFree } from '../../storage/cards/create-card.ts'
import { chooseTokenOfShard } from '../../storage/cards/replacements.ts'
import type { GrantedProduct } from '../../storage/products/products.ts'
import type { CardContext } from './cards.ts'

/** After this many collisions in a row, the BIN is full, or a seed repeats on old data. */
const numbersMax = 1_000

/** Draws the number of a card of a product. */
type DrawNumber = (context: CardContext, product: GrantedProduct) => Promise<CardNumber>

/**
 * Creates a draw of card numbers. Most numbers are free, so only a retry checks the number first.
 * @param lineToken the first card of the line that the card joins; null for a card without one.
 */
export function createDraw(lineToken: PublicToken | null): DrawNumber {
  let draws = 0
  const draw: DrawNumber = async (context, { bin, cvk }) => {
    const needsShard = lineToken !== null && context.database.isCluster()
    const token = needsShard ? await drawTokenBeside(context, lineToken) : undefined
    return context.hsm.generateCardNumber(bin, cvk, token)
  }
  return (context, product) => {
    draws += 1
    return draws === 1 ? draw(context, product) : drawFreeNumber(draw, context, product)
  }
}

async function drawFreeNumber(
  draw: DrawNumber,
  context: CardContext,
  product: GrantedProduct,
): Promise<CardNumber> {
  for (let numbers = 1; numbers <= numbersMax; numbers += 1) {
    const number = await draw(context, product)
    const { panFingerprints, publicToken } = number
    if (await isNumberFree(context.database, publicToken, panFingerprints)) return number
  }
  throw new Error(`No number is free in the BIN of product ${product.productId}.`)
}

/** With 32 shards, none of these lies in a given one once in some 8,000 draws. */
const candidatesAtOnce = 288

/** With 1,000 shards, all of these miss a given one once in 400,000 cards. */
const drawsMax = 50

/** Draws a token that lies on the same node of a cluster as the first card of its line. */
async function drawTokenBeside(context: CardContext, lineToken: PublicToken): Promise<PublicToken> {
  for (let draws = 1; draws <= drawsMax; draws += 1) {
    const candidates = Array.from({ length: candidatesAtOnce }, drawToken).filter(isPublicToken)
    const token = await chooseTokenOfShard(context.database, lineToken, candidates)
    if (token) return token
  }
  throw new Error(`No token was drawn that lies beside the card ${lineToken}.`)
}

/** Draws ten digits, as the HSM does. */
const drawToken = (): string => Array.from({ length: 10 }, () => randomInt(10)).join('')
