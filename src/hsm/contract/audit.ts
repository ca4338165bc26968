import type { Checkpoint } from '../../../packages/audit/checkpoints.ts'
import type { KeyState } from './stored-keys.ts'

/** The public half of a version of a key that signs checkpoints. */
export interface AuditKey {
  readonly version: number
  readonly algorithm: 'Ed25519' | 'ML-DSA-44'
  readonly state: KeyState
  /** 32 bytes (RFC 8032), or 1,312 (FIPS 204). */
  readonly publicKey: Uint8Array
}

/** A signature of a checkpoint, as a note has it after its key's id. */
export interface CheckpointSignature {
  readonly key: AuditKey
  /**
   * Ed25519: 64 bytes over the checkpoint's text (c2sp.org/signed-note). ML-DSA-44: a time in
   * seconds, 8 bytes, and 2,420 over a cosigned message (c2sp.org/tlog-cosignature).
   */
  readonly signature: Uint8Array
}

/** The audit log behind the boundary: its keys sign checkpoints and nothing else. */
export interface AuditHsm {
  /**
   * Every version of both keys, as verifiers need them: retired ones, too, for what they signed.
   */
  auditKeys(): Promise<readonly AuditKey[]>
  /**
   * Makes the first key of ML-DSA-44.
   * @throws `Problem` `key_refused` where the HSM knows no such keys.
   */
  generateAuditMlDsaKey(): Promise<void>
  /**
   * Signs with every active version, the newest first, so that a verifier who knows the older one
   * only follows until it is retired. ML-DSA-44 signs where it has a key and is asked for.
   */
  signCheckpoint(
    checkpoint: Checkpoint,
    given: { readonly at: Date; readonly withMlDsa: boolean },
  ): Promise<readonly CheckpointSignature[]>
}
