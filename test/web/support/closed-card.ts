/**
 * What is on a `<pinfold-card>`, seen through its closed shadow tree as the browser's own tools see
 * it: no script of a page can.
 */
import type { CDPSession } from 'playwright-core'

export type ShownCard = {
  pan: string
  expiry: string
  cvv: string
  /** Empty unless it is shown. */
  pin: string
  /** What a screen reader was told last. */
  status: string
}

type DomNode = {
  nodeName: string
  nodeValue: string
  attributes?: string[]
  children?: DomNode[]
  shadowRoots?: DomNode[]
  backendNodeId: number
}

/** @throws Error unless there is one card in the page. */
export const readCard = async (devtools: CDPSession): Promise<ShownCard> => {
  const host = await cardNode(devtools)
  const [root] = host.shadowRoots ?? []
  if (!root) throw new Error('The card has no shadow tree.')
  const value = (field: string) => textOf(find(find(root, field), 'value'))
  return {
    pan: value('pan'),
    expiry: value('expiry'),
    cvv: value('cvv'),
    pin: value('pin'),
    status: textOf(find(root, 'status')),
  }
}

/** Every text and attribute of the page outside the card's shadow tree. */
export const readAround = async (devtools: CDPSession): Promise<string> => {
  const { root } = (await devtools.send('DOM.getDocument', { depth: -1 })) as { root: DomNode }
  return [...walk(root, false)]
    .flatMap(({ attributes = [], nodeValue }) => [nodeValue, ...attributes])
    .join('\n')
}

/** Every attribute inside the card's shadow tree. */
export const readCardAttributes = async (devtools: CDPSession): Promise<string> =>
  [...walk(await cardNode(devtools), true)].flatMap(({ attributes = [] }) => attributes).join('\n')

const cardNode = async (devtools: CDPSession): Promise<DomNode> => {
  const options = { depth: -1, pierce: true }
  const { root } = (await devtools.send('DOM.getDocument', options)) as { root: DomNode }
  const host = [...walk(root, true)].find(({ nodeName }) => nodeName === 'PINFOLD-CARD')
  if (!host) throw new Error('There is no card in the page.')
  return host
}

function* walk(node: DomNode, pierce: boolean): Generator<DomNode> {
  yield node
  const below = [...(node.children ?? []), ...(pierce ? (node.shadowRoots ?? []) : [])]
  for (const child of below) yield* walk(child, pierce)
}

const find = (node: DomNode, name: string): DomNode => {
  for (const each of walk(node, true)) {
    const { attributes = [] } = each
    const classes = attributes[attributes.indexOf('class') + 1] ?? ''
    if (attributes.includes('class') && classes.split(' ').includes(name)) return each
  }
  throw new Error(`The card has no ${name}.`)
}

const textOf = (node: DomNode): string =>
  [...walk(node, true)].map((each) => each.nodeValue).join('')
