/**
 * The headers of everything that a site answers. Nothing is loaded from elsewhere, framed, or made
 * into code from text.
 *
 * @param keysUrl where the page fetches the service's keys: the one address beside its own.
 */
export function siteHeaders(keysUrl: string): Readonly<Record<string, string>> {
  const keysOrigin = URL.canParse(keysUrl) ? ` ${new URL(keysUrl).origin}` : ''
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self'${keysOrigin}`,
    "base-uri 'none'",
    // A form that a script does not catch would put what is typed into it, a PIN, into a URL.
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]
  return {
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}
