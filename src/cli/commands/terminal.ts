import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { pinKeys, requestCardData } from '../../../packages/sdk/device/device.ts'
import type { Money } from '../../domain/money.ts'
import { escapeLine } from '../../domain/terminal-text.ts'
import { findResponseCode } from '../../listeners/iso8583/answer.ts'
import { composePinKeyName } from '../../listeners/iso8583/network-messages.ts'
import { loadProfiles } from '../../listeners/iso8583/profile.ts'
import type { LinkOutcome, Profile } from '../../listeners/iso8583/profile-schema.ts'
import * as terminals from '../../listeners/iso8583/terminal.ts'
import { readSandboxFile, type SandboxFile } from '../../sandbox/sandbox-file.ts'
import { readConfig } from '../../service/config/config.ts'
import * as cli from '../command.ts'
import { asAdministrator, asClient } from '../connection/connection.ts'
import { line, print } from '../output.ts'
import { findPrice, priceOptions } from '../price.ts'
import { type Conversation, playChip } from './terminal-chip.ts'

/** The known data of a test card. */
interface TestCard extends terminals.PresentedCard {
  readonly pin: string
  readonly cvv2: string
  /** Null if the service was not asked for the card. */
  readonly publicToken: string | null
}

/** One message of the conversation and its expected response code. */
interface Turn {
  readonly title: string
  readonly due: string
  readonly got: string
}

export const terminalCommand: cli.Command = {
  words: 'terminal',
  summary: 'acts as a card network on a link: purchases, repeats, reversals',
  description:
    'It signs on, sends an echo, purchases with right and wrong PINs and CVV2s, a repeat and a ' +
    'reversal, and shows the\ndecoded messages of both sides, with masked PANs. Without --pan ' +
    'it creates a card in the sandbox. PIN blocks are\nenciphered under the sandbox’s key or ' +
    'that of --zone-key-file; without either, the purchases with a PIN are omitted.\nExits ' +
    'with 1 if an answer differs from the expected one.',
  options: {
    link: {
      type: 'string',
      value: 'LINK',
      help: 'a link; by default the sandbox’s own',
    },
    host: {
      type: 'string',
      value: 'HOST',
      help: 'the address of the link; by default from its registration',
    },
    port: { type: 'string', value: 'PORT', help: 'its port' },
    profile: { type: 'string', value: 'NAME', help: 'the format of its messages' },
    pan: {
      type: 'string',
      value: 'DIGITS',
      help: 'an existing card, with --expiry, --pin and --cvv2',
    },
    expiry: { type: 'string', value: 'YYYY-MM', help: 'its expiry', needs: 'pan' },
    pin: { type: 'string', value: 'DIGITS', help: 'its PIN', needs: 'pan' },
    cvv2: { type: 'string', value: 'DIGITS', help: 'its CVV2', needs: 'pan' },
    'zone-key-file': {
      type: 'string',
      value: 'FILE',
      help: 'a test key for PIN blocks (TDES), in hexadecimal',
    },
    amount: { ...priceOptions.amount, help: 'of each purchase; 10.00 EUR unless given' },
    currency: priceOptions.currency,
    merchant: {
      type: 'string',
      value: 'NAME',
      help: 'who sells; Pinfold Test Shop unless given',
    },
    'key-index': { type: 'string', value: 'NN', help: 'its index; by default 01' },
    chip: {
      type: 'boolean',
      help: 'plays a card with a virtual chip instead, whose PIN is blocked and unblocked',
    },
  },
  example: 'pinfold terminal --link acme-1 --zone-key-file pin-01.hex --amount 12.34',
  async run(call) {
    const sandbox = await readSandboxFile(readConfig().dataDir)
    const address = await findLink(call, sandbox)
    const profile = (await loadProfiles(readConfig().linkProfilesDir)).get(address.profile)
    if (!profile) throw new cli.UsageError(`The profile ${address.profile} does not exist.`)
    const keyIndex = cli.findText(call, 'key-index') ?? '01'
    const goods = findGoods(call)
    const keyName = composePinKeyName(profile, keyIndex)
    const zoneKey = await findZoneKey(call, sandbox, address, keyName)
    const isChip = call.options.chip === true
    if (isChip && profile.chip === null) {
      throw new cli.UsageError(`The profile ${address.profile} has no chip data.`)
    }
    const card = await findCard(call, sandbox)
    const isSilent = call.options.json === true
    if (!zoneKey && !isSilent && !isChip) {
      print(
        `Purchases with a PIN are omitted: the value of ${keyName} is unknown. Name its file ` +
          'with --zone-key-file.\n',
      )
    }
    const stage = { ...address, profile, zoneKey, keyIndex, ...goods }
    const turns = await play(stage, isSilent, (conversation) =>
      isChip
        ? playCardWithChip(call, conversation, stage, card)
        : playCard(conversation, stage, card),
    )
    const wrong = turns.filter(({ due, got }) => due !== got)
    const { host, port } = address
    return {
      json: { server: `${host}:${port}`, turns },
      text: [
        `The server at ${host}:${port} answered:`,
        ...turns.map(({ due, got, title }) => line`${got === due ? '✔' : '✘'} ${got} ${title}`),
      ].join('\n'),
      exitCode: wrong.length === 0 ? cli.exitCodes.done : cli.exitCodes.refused,
    }
  },
}

/** The address and the profile of a link. */
interface LinkAddress {
  readonly host: string
  readonly port: number
  readonly profile: string
  /** The link's network; null when only the address is known. */
  readonly networkId: string | null
}

/** A link in the service's list. */
interface ServedLink extends LinkAddress {
  readonly linkName: string
  readonly state: string
  readonly fault: string | null
}

/** The link that is named, else the sandbox's own; an address that is typed replaces its own. */
async function findLink(call: cli.Call, sandbox: SandboxFile | null): Promise<LinkAddress> {
  const isTyped =
    cli.findText(call, 'host') !== undefined || cli.findText(call, 'port') !== undefined
  const name = cli.findText(call, 'link') ?? (isTyped ? undefined : sandbox?.link?.linkName)
  const served =
    name === undefined
      ? null
      : await asAdministrator(call, ({ ask }) =>
          ask<ServedLink>('GET', `/links/${encodeURIComponent(name)}`),
        )
  if (served && !isTyped) requireServed(served)
  const known = served ?? (sandbox?.link && { ...sandbox.link, networkId: null })
  const port = cli.parseNumber(call, 'port') ?? known?.port
  if (port === undefined)
    throw new cli.UsageError('This machine has no sandbox link: give --link or --port.')
  return {
    host: cli.findText(call, 'host') ?? known?.host ?? '127.0.0.1',
    port,
    profile: cli.findText(call, 'profile') ?? known?.profile ?? 'sandbox',
    networkId: known?.networkId ?? null,
  }
}

/** Another program may have the port: it is not to get messages of a network. */
function requireServed({ fault, host, linkName, port, state }: ServedLink): void {
  if (['listening', 'connected', 'signed on'].includes(state)) return
  throw new cli.Unreachable(
    `The link ${linkName} is ${state}, so no Pinfold listens on ${host}:${port}. ` +
      (fault ?? 'Start the service, or wait until its processes have taken the link.'),
  )
}

/**
 * Returns the key for PIN blocks: from the named file, or the sandbox's test key; null without
 * either.
 */
async function findZoneKey(
  call: cli.Call,
  sandbox: SandboxFile | null,
  { networkId }: LinkAddress,
  keyName: string,
): Promise<Buffer | null> {
  const file = cli.findText(call, 'zone-key-file')
  if (file !== undefined) {
    const text = await readFile(file, 'utf8').catch((cause: unknown) => {
      throw new cli.UsageError(`${file} cannot be read.`, { cause })
    })
    if (!/^\s*(?:[0-9A-Fa-f]{32}|[0-9A-Fa-f]{48})\s*$/.test(text)) {
      throw new cli.UsageError(`${file} must have a TDES key of 32 or 48 hexadecimal digits.`)
    }
    return Buffer.from(text.trim(), 'hex')
  }
  if (!sandbox || (networkId !== null && networkId !== sandbox.network.clientId)) return null
  const { linkKey, zoneKeys } = sandbox.network
  const named = keyName === linkKey?.key ? linkKey.sameAs : keyName
  const known = zoneKeys.find(({ algorithm, key }) => key === named && algorithm === 'TDES')
  return known ? Buffer.from(known.value, 'hex') : null
}

/** Returns the named card, or a new card of the sandbox. */
async function findCard(call: cli.Call, sandbox: SandboxFile | null): Promise<TestCard> {
  const pan = cli.findText(call, 'pan')
  const needed = (option: string) => cli.requireText(call, option)
  if (pan !== undefined) {
    const expiry = needed('expiry')
    const pin = needed('pin')
    const cvv2 = needed('cvv2')
    if (call.options.chip === true) {
      throw new cli.UsageError('--chip creates its own card: leave out --pan.')
    }
    return { pan, expiry, pin, cvv2, publicToken: null }
  }
  if (!sandbox) throw new cli.UsageError('A card can only be created in a sandbox: give --pan.')
  return makeCard(call, sandbox)
}

/** Creates a card in the sandbox and reads its data as its holder's device does. */
const makeCard = (call: cli.Call, { baseUrl }: SandboxFile): Promise<TestCard> =>
  asClient(call, async ({ ask, base }) => {
    const { publicToken } = await ask<{ readonly publicToken: string }>('POST', `${base}/cards`, {
      // Only physical cards have a chip.
      ...(call.options.chip === true
        ? { cardType: 'Physical', activateNow: true }
        : { cardType: 'Virtual' }),
      cardProduct: 1001,
      cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
      address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
    })
    const { pin } = await ask<{ readonly pin: string }>(
      'GET',
      `${base}/card-pin/${publicToken}/pin`,
    )
    for (let waitedMs = 0; ; waitedMs += 1_000) {
      try {
        const keys = pinKeys(baseUrl, await ask('GET', '/.well-known/jwks.json'))
        const request = await requestCardData(keys, publicToken)
        const sealed = await ask('POST', `${base}/cards/${publicToken}/encrypted`, request.body)
        const { cvv, expiryDate, pan } = await request.open(sealed)
        return { pan, expiry: expiryDate, pin, cvv2: cvv, publicToken }
      } catch (error) {
        // At the first start, its keys are made in the background.
        if (waitedMs > keysMs) throw error
        await wait(1_000)
      }
    }
  })

/** The maximum wait for the keys of card data. */
const keysMs = 30_000

/** The purchase: its price and its merchant. */
interface Goods {
  readonly price: Money
  readonly merchantName: string
}

function findGoods(call: cli.Call): Goods {
  const price = findPrice(call) ?? { amount: 1000, currency: 'EUR' }
  const merchantName = cli.findText(call, 'merchant') ?? 'Pinfold Test Shop'
  if (!/^[ -~]{1,22}$/.test(merchantName)) {
    throw new cli.UsageError('--merchant takes 1 to 22 printable ASCII characters.')
  }
  return { price, merchantName }
}

/** The link and the key of the conversation; without a key, no message has a PIN. */
interface Stage extends Pick<LinkAddress, 'host' | 'port'>, Goods {
  readonly profile: Profile
  readonly zoneKey: Uint8Array | null
  readonly keyIndex: string
}

/** A message and its expected outcome. */
interface Scene {
  readonly title: string
  readonly outcome: LinkOutcome
  readonly message: ReturnType<typeof terminals.createPurchase>
}

const otherDigits = (digits: string): string =>
  digits.slice(0, -1) + ((Number(digits.at(-1)) + 1) % 10)

/** Yields the requests with the card, as the profile has them. */
function* writeScenes(stage: Stage, card: TestCard): Generator<Scene> {
  const { keyIndex, merchantName, price, profile, zoneKey } = stage
  const bought = (mode: 'chip' | 'ecommerce') => {
    const message = terminals.createPurchase(card, price)
    return terminals.presentedOn(
      profile,
      terminals.withMerchant(profile, message, merchantName),
      mode,
    )
  }
  if (zoneKey) {
    const withPin = (pin: string) =>
      terminals.withPin(bought('chip'), pin, zoneKey, profile.pin, keyIndex)
    const tried = withPin(otherDigits(card.pin))
    yield { title: 'a purchase with a wrong PIN', outcome: '55', message: tried }
    const title = 'its repeat: the same answer, without a second try'
    yield { title, outcome: '55', message: terminals.createRepeat(tried) }
    yield { title: 'a purchase with the right PIN', outcome: '00', message: withPin(card.pin) }
  }
  const online = terminals.withCvv2(profile, bought('ecommerce'), otherDigits(card.cvv2))
  if (online) yield { title: 'a purchase with a wrong CVV2', outcome: 'N7', message: online }
  const keyed = terminals.withCvv2(profile, bought('ecommerce'), card.cvv2)
  const paid = keyed ?? bought('chip')
  const title = keyed ? 'a purchase with the right CVV2' : 'a purchase'
  yield { title, outcome: '00', message: paid }
  const reversal = terminals.takingBack(profile, paid)
  yield { title: 'its reversal, which restores no try', outcome: '00', message: reversal }
}

/** Plays purchases with PINs and CVV2s, a repeat and a reversal. */
async function playCard(conversation: Conversation, stage: Stage, card: TestCard): Promise<void> {
  for (const { message, outcome, title } of writeScenes(stage, card)) {
    await conversation.send(title, outcome, message)
  }
}

/** PINs that every product accepts, unless the card number ends in their digits. */
const strongPins = ['7193', '6284', '719340', '628416']

/** Plays purchases with the virtual chip of the card. */
const playCardWithChip = (
  call: cli.Call,
  conversation: Conversation,
  { merchantName, price, profile }: Stage,
  card: TestCard,
): Promise<void> =>
  asClient(call, (service) => {
    const { pin, publicToken } = card
    if (publicToken === null) throw new Error('A card with a virtual chip has no token.')
    const createMessage = () => {
      const message = terminals.createPurchase(card, price)
      const sold = terminals.withMerchant(profile, message, merchantName)
      return terminals.presentedOn(profile, sold, 'chip')
    }
    const wrongPin = otherDigits(pin)
    const lastFour = card.pan.slice(-4)
    const isAccepted = (each: string) => each.length === pin.length && !each.includes(lastFour)
    const newPin = strongPins.find((each) => isAccepted(each) && each !== pin) ?? wrongPin
    return playChip(service, conversation, {
      profile,
      publicToken,
      pin,
      wrongPin,
      newPin,
      price,
      createMessage,
    })
  })

/** Plays a conversation after sign-on and echo. */
async function play(
  { host, port, profile }: Stage,
  isSilent: boolean,
  act: (conversation: Conversation) => Promise<void>,
): Promise<readonly Turn[]> {
  const socket = connect({ host, port })
  await once(socket, 'connect').catch((cause: Error) => {
    throw new cli.Unreachable(`No program is listening at ${host}:${port}.`, { cause })
  })
  const terminal = terminals.openTerminal(profile, socket, (side, lines) => {
    if (!isSilent) print(`${side}\n${lines.map(escapeLine).join('\n')}\n`)
  })
  const turns: Turn[] = []
  const turn = async (title: string, due: string, ask: () => ReturnType<typeof terminal.ask>) => {
    if (!isSilent) print(`— ${title} —\n`)
    const answer = await ask()
    turns.push({ title, due, got: answer.fields['39'] ?? '' })
    return answer
  }
  const accepted = findResponseCode(profile, profile.version === '1993' ? '1804' : '0800', '00')
  try {
    await turn('sign-on', accepted, () => terminal.signOn())
    await turn('echo', accepted, () => terminal.echo())
    await act({
      send: (title, outcome, message) =>
        turn(title, findResponseCode(profile, message.mti, outcome), () => terminal.ask(message)),
      note: (title, due, got) => turns.push({ title, due, got }),
    })
    return turns
  } finally {
    terminal.close()
  }
}
