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

/** A signature of a checkpoint, as it follows the key's id in a note. */
export interface CheckpointSignature {
  readonly key: AuditKey
  /**
   * Ed25519: 64 bytes over the checkpoint's text (c2sp.org/signed-note). ML-DSA-44: a time in
   * seconds (8 bytes) and 2,420 bytes over a cosigned message (c2sp.org/tlog-cosignature).
   */
  readonly signature: Uint8Array
}

/** The audit log's part of the HSM. Its keys sign checkpoints and nothing else. */
export interface AuditHsm {
  /**
   * Lists every version of both keys for verifiers, including retired ones, which verify old
   * signatures.
   */
  auditKeys(): Promise<readonly AuditKey[]>
  /**
   * Generates the first ML-DSA-44 key.
   * @throws `Problem` `key_refused` if the HSM does not support such keys.
   */
  generateAuditMlDsaKey(): Promise<void>
  /**
   * Signs with every active version, newest first. A verifier that knows only the older version can
   * follow until that one is retired. Signs with ML-DSA-44 only if the key exists and the caller
   * requests it.
   */
  signCheckpoint(
    checkpoint: Checkpoint,
    given: { readonly at: Date; readonly withMlDsa: boolean },
  ): Promise<readonly CheckpointSignature[]>
}
