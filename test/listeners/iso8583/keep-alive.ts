import { composeFrame, type Framing } from '../../../src/listeners/iso8583/codec/frame.ts'

/** The frame without a message, which only says that its sender is there. */
export const keepAliveOf = ({ inclusive, length }: Framing): Buffer =>
  composeFrame({ length, ...(inclusive && { inclusive }) }, Buffer.alloc(0))
