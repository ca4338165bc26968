import * as cli from '../command.ts'
import { readJsonFile } from '../files.ts'

/** The client's texts for the bureau. */
export const textOptions: cli.Options = {
  text1: {
    type: 'string',
    value: 'TEXT',
    help: 'for the bureau that produces the plastic',
    pointer: '/freetext1',
  },
  text2: { type: 'string', value: 'TEXT', help: 'another one', pointer: '/freetext2' },
}

/** Where a new plastic goes, and the texts for its bureau. */
export const productionOptions: cli.Options = {
  fulfilment: {
    type: 'string',
    value: 'FILE',
    help: 'where the plastic goes: an address as JSON; by default as before',
    pointer: '/fulfilment',
  },
  ...textOptions,
}

export const pickTexts = (call: cli.Call) => ({
  freetext1: cli.findText(call, 'text1'),
  freetext2: cli.findText(call, 'text2'),
})

/** @throws UsageError if the file of the address cannot be read. */
export async function readProduction(call: cli.Call) {
  const path = cli.findText(call, 'fulfilment')
  const fulfilment = path === undefined ? undefined : await readJsonFile(path)
  return { fulfilment, ...pickTexts(call) }
}
