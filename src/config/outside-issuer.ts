/** An issuer of tokens in the embedded one's place. */
export interface OutsideIssuer {
  readonly issuer: string
  readonly audience: string
  readonly clientClaim: string
}
