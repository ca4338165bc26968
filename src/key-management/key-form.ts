/** A key's algorithm and length, where its purpose leaves a choice. */
export type { KeyForm } from '../hsm/key-administration.ts'
