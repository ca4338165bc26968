import { isCurrencyCode } from '../domain/currencies.ts'
import { formatMoney, type Money, parseMoney } from '../domain/money.ts'
import * as cli from './command.ts'

/** Options of an amount, as people write it. */
export const priceOptions = {
  amount: {
    type: 'string',
    value: 'AMOUNT',
    help: 'how much, such as 12.34',
    pointer: '/amount',
  },
  currency: {
    type: 'string',
    value: 'CODE',
    help: 'its currency; EUR unless given',
    pointer: '/currency',
    needs: 'amount',
  },
} as const satisfies cli.Options

/** The amount that the options say, or null. @throws UsageError */
export function findPrice(call: cli.Call): Money | null {
  const text = cli.findText(call, 'amount')
  if (text === undefined) return null
  const currency = (cli.findText(call, 'currency') ?? 'EUR').toUpperCase()
  if (!isCurrencyCode(currency)) {
    throw new cli.UsageError(`${currency} is no currency: write its ISO 4217 code, such as EUR.`)
  }
  const price = parseMoney(text, currency)
  if (price) return price
  const [example] = formatMoney({ amount: 123_450, currency }).split(' ')
  throw new cli.UsageError(`${text} is not an amount in ${currency}: write it as in ${example}.`)
}
