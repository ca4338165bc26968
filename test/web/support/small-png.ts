import { crc32, deflateSync, inflateSync } from 'node:zlib'

/**
 * Pictures of pages as a repository wants them: with a palette of 256 colours, a third of what a
 * browser writes.
 */

const signature = Buffer.from('89504e470d0a1a0a', 'hex')

/**
 * The same picture with the colours that it has most of.
 * @param png eight bits a channel, without transparency or interlacing
 */
export function smallPng(png: Uint8Array): Buffer {
  const chunks = readChunks(Buffer.from(png))
  const header = Buffer.concat(chunks.get('IHDR') ?? [])
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  if (header.readUInt16BE(8) !== 0x0802) throw new Error('This is no picture in plain colours.')
  const pixels = readPixels(inflateSync(Buffer.concat(chunks.get('IDAT') ?? [])), width, height)
  const { indexOf, palette } = paletteOf(pixels)
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0, at = 0; y < height; y += 1) {
    for (let x = 1; x <= width; x += 1, at += 3) {
      rows[y * (width + 1) + x] = indexOf(pixels.readUIntBE(at, 3))
    }
  }
  const indexed = Buffer.from(header)
  indexed[9] = 3
  return Buffer.concat([
    signature,
    chunk('IHDR', indexed),
    chunk('PLTE', palette),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function readChunks(png: Buffer): Map<string, Buffer[]> {
  const chunks = new Map<string, Buffer[]>()
  for (let at = signature.length; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const name = png.toString('latin1', at + 4, at + 8)
    const body = png.subarray(at + 8, at + 8 + png.readUInt32BE(at))
    chunks.set(name, [...(chunks.get(name) ?? []), body])
  }
  return chunks
}

function chunk(name: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), body])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(body.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

/** Takes away the filters of the rows (PNG, third edition, section 9). */
function readPixels(rows: Buffer, width: number, height: number): Buffer {
  const stride = 3 * width
  const pixels = Buffer.alloc(stride * height)
  const known = (isThere: boolean, at: number) => (isThere ? (pixels[at] ?? 0) : 0)
  for (let y = 0; y < height; y += 1) {
    const filter = rows[y * (stride + 1)] ?? 0
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x
      const [isLeft, isUp] = [x >= 3, y > 0]
      const left = known(isLeft, at - 3)
      const up = known(isUp, at - stride)
      const corner = known(isLeft && isUp, at - stride - 3)
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0
      pixels[at] = ((rows[at + y + 1] ?? 0) + predicted) & 0xff
    }
  }
  return pixels
}

function paeth(left: number, up: number, corner: number): number {
  const [toLeft, toUp, toCorner] = [up - corner, left - corner, left + up - 2 * corner].map(
    Math.abs,
  )
  if ((toLeft ?? 0) <= (toUp ?? 0) && (toLeft ?? 0) <= (toCorner ?? 0)) return left
  return (toUp ?? 0) <= (toCorner ?? 0) ? up : corner
}

function paletteOf(pixels: Buffer): { indexOf: (color: number) => number; palette: Buffer } {
  const counts = new Map<number, number>()
  for (let at = 0; at < pixels.length; at += 3) {
    const color = pixels.readUIntBE(at, 3)
    counts.set(color, (counts.get(color) ?? 0) + 1)
  }
  const colors = [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 256)
    .map(([color]) => color)
  const known = new Map(colors.map((color, index) => [color, index]))
  const distance = (a: number, b: number) =>
    [16, 8, 0].reduce((sum, bits) => sum + (((a >> bits) & 0xff) - ((b >> bits) & 0xff)) ** 2, 0)
  const indexOf = (color: number): number => {
    const found = known.get(color)
    if (found !== undefined) return found
    const nearest = colors.reduce((best, each) =>
      distance(each, color) < distance(best, color) ? each : best,
    )
    known.set(color, colors.indexOf(nearest))
    return colors.indexOf(nearest)
  }
  const palette = Buffer.alloc(3 * colors.length)
  for (const [index, color] of colors.entries()) palette.writeUIntBE(color, 3 * index, 3)
  return { indexOf, palette }
}
