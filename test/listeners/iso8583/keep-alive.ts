import { type Framing, frameOf } from '../../../src/listeners/iso8583/codec/frame.ts'

/** The frame without a message, which only says that its sender is there. */
export const keepAliveOf = ({ inclusive, length }: Framing): Buffer =>
  frameOf({ length, ...(inclusive && { inclusive }) }, Buffer.alloc(0))
