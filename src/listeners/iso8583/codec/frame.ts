/** How messages are delimited on a connection. */
export interface Framing {
  /**
   * The length before each message: binary of 2 or 4 bytes, 2 bytes of packed digits, 4 ASCII
   * digits, or 2 binary bytes and 2 bytes of a session, whose messages are not ISO 8583.
   */
  readonly length: 'binary-2' | 'binary-4' | 'bcd-2' | 'ascii-4' | 'binary-2-session'
  /** Whether the length includes its own bytes. */
  readonly inclusive?: boolean
  readonly header?: FrameHeader
}

/** The header between the length and the message. */
type FrameHeader =
  /** 5 bytes: an identifier, then the addresses of destination and source (ISO 7498). */
  | { readonly kind: 'tpdu' }
  /** 22 bytes, with the addresses of destination and source and the whole length. */
  | { readonly kind: 'base-1' }
  /** The same text before every message. */
  | { readonly kind: 'text'; readonly text: string }

/** The maximum size of a frame: no card message is longer. */
export const frameBytesMax = 4_096

/** The content of one frame. */
interface Frame {
  /** Empty without a header. */
  readonly header: Buffer
  /** Empty in a keep-alive frame. */
  readonly message: Buffer
}

/** Bytes that are not a frame. The message is for operators and contains no part of a message. */
export class FrameError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'FrameError'
  }
}

interface FrameReader {
  /**
   * Adds bytes, and returns the complete frames.
   * @throws FrameError if none is complete and the next one is invalid, and at every later call.
   */
  push(bytes: Uint8Array): readonly Frame[]
  /** Returns the number of bytes of the incomplete frame. */
  waiting(): number
  /** Returns why the frame may be incomplete, if its length may have another format. */
  suspicion(): string | null
}

interface LengthForm {
  readonly bytes: number
  read(bytes: Buffer): number | null
  write(length: number): Buffer
}

const packed = (digits: string): Buffer => Buffer.from(digits, 'hex')
const digitsIn = (text: string): number | null => (/^[0-9]+$/.test(text) ? Number(text) : null)

function binaryForm(bytes: 2 | 4): LengthForm {
  const write = (length: number): Buffer => {
    const written = Buffer.alloc(bytes)
    written.writeUIntBE(length, 0, bytes)
    return written
  }
  return { bytes, read: (given) => given.readUIntBE(0, bytes), write }
}

const forms: Readonly<Record<Framing['length'], LengthForm>> = {
  'binary-2': binaryForm(2),
  'binary-4': binaryForm(4),
  'bcd-2': {
    bytes: 2,
    read: (bytes) => digitsIn(bytes.toString('hex', 0, 2)),
    write: (length) => packed(String(length).padStart(4, '0')),
  },
  'ascii-4': {
    bytes: 4,
    read: (bytes) => digitsIn(bytes.toString('latin1', 0, 4)),
    write: (length) => Buffer.from(String(length).padStart(4, '0')),
  },
  'binary-2-session': {
    bytes: 4,
    read: (bytes) => bytes.readUInt16BE(0),
    write: (length) => Buffer.concat([binaryForm(2).write(length), Buffer.alloc(2)]),
  },
}

const none = Buffer.alloc(0)

/** Splits a stream of bytes into frames. It stores at most one frame. */
export function createFrameReader(framing: Framing): FrameReader {
  const form = forms[framing.length]
  let rest: Buffer = none
  let fault: FrameError | null = null

  /** Returns the next frame, or null if it is incomplete. */
  function next(): Frame | null {
    if (rest.length < form.bytes) return null
    const end = form.bytes + bodyLength(framing, rest)
    if (rest.length < end) return null
    const body = rest.subarray(form.bytes, end)
    const isSession = framing.length === 'binary-2-session' && (rest[3] ?? 0) >> 4 !== 0
    rest = rest.subarray(end)
    if (body.length === 0 || isSession) return { header: none, message: none }
    return withoutHeader(framing.header, body)
  }

  return {
    push(bytes) {
      if (fault) throw fault
      rest = rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([rest, bytes])
      const frames: Frame[] = []
      try {
        for (let frame = next(); frame; frame = next()) frames.push(frame)
      } catch (error) {
        // The earlier frames are complete, and are returned first.
        if (!(error instanceof FrameError) || frames.length === 0) throw error
        fault = error
        rest = none
      }
      // A view would keep the whole buffer that it was cut from.
      if (rest.length > 0) rest = Buffer.from(rest)
      return frames
    },
    waiting: () => rest.length,
    suspicion() {
      // A frame that is never complete usually has a length in another format.
      const seems = (['binary-2', 'bcd-2', 'ascii-4', 'binary-4'] as const).find((other) => {
        const { bytes, read } = forms[other]
        const counted = rest.length < bytes || other === framing.length ? null : read(rest)
        return counted !== null && counted + (framing.inclusive ? 0 : bytes) === rest.length
      })
      return seems ? `Read as ${seems}, the length would match the received bytes.` : null
    },
  }
}

/**
 * Returns the length of a frame, without its length field.
 * @throws FrameError
 */
function bodyLength(framing: Framing, bytes: Buffer): number {
  const form = forms[framing.length]
  const counted = form.read(bytes)
  if (counted === null) {
    const seems = framing.length === 'ascii-4' ? ': it seems to be binary' : ''
    throw new FrameError(`The length is not digits${seems}.`)
  }
  const length = framing.inclusive ? counted - form.bytes : counted
  if (length < 0) throw new FrameError('The length is less than its own size.')
  if (length <= frameBytesMax) return length
  // An implausibly large binary length usually consists of digits.
  const isDigits =
    framing.length.startsWith('binary') && /^[0-9]{2}$/.test(bytes.toString('latin1', 0, 2))
  const seems = isDigits ? ': its length seems to be four digits of ASCII' : ''
  throw new FrameError(`The frame exceeds the limit of ${frameBytesMax} bytes${seems}.`)
}

function withoutHeader(header: FrameHeader | undefined, body: Buffer): Frame {
  const lengths = { tpdu: 5, 'base-1': 22, text: header?.kind === 'text' ? header.text.length : 0 }
  const length = header ? lengths[header.kind] : 0
  if (body.length < length) throw new FrameError('The frame ends within its header.')
  const frame = { header: body.subarray(0, length), message: body.subarray(length) }
  if (header?.kind === 'text' && frame.header.toString('latin1') !== header.text) {
    throw new FrameError('The frame does not have the agreed header.')
  }
  return frame
}

/** Composes the frame of a message, with the header of an answer or of a first message. */
export function composeFrame(framing: Framing, message: Uint8Array, header?: Buffer): Buffer {
  const form = forms[framing.length]
  const body = Buffer.concat([answerHeader(framing.header, message.length, header), message])
  const length = form.write(body.length + (framing.inclusive ? form.bytes : 0))
  return Buffer.concat([length, body])
}

/** Composes the header of an answer: the addresses of the request, exchanged. */
function answerHeader(header: FrameHeader | undefined, length: number, asked?: Buffer): Buffer {
  if (!header) return none
  if (header.kind === 'text') return Buffer.from(header.text, 'latin1')
  const turned = Buffer.from(asked ?? firstHeaders[header.kind])
  const [start, size] = header.kind === 'tpdu' ? ([1, 2] as const) : ([5, 3] as const)
  const destination = Buffer.from(turned.subarray(start, start + size))
  turned.copyWithin(start, start + size, start + 2 * size)
  destination.copy(turned, start + size)
  if (header.kind === 'base-1') turned.writeUInt16BE(turned.length + length, 3)
  return turned
}

const firstHeaders = {
  tpdu: packed('6000000000'),
  'base-1': packed(`160102${'00'.repeat(19)}`),
} as const
