/** Uses a secret once, and wipes it, also after a failure. */
export function using<Result>(secret: Buffer, use: (secret: Buffer) => Result): Result {
  try {
    return use(secret)
  } finally {
    secret.fill(0)
  }
}
