/** Conflicts with the present state of a card, of its plastics or of its line. */
export const cardLifeConflicts = {
  card_already_replaced: {
    status: 409,
    title: 'The card is already replaced.',
    explanation:
      'A card has one successor at a time. The member replacedBy names the successor, which is ' +
      'the card to replace, renew or convert now. A successor that is closed before it was ever ' +
      'active does not count: the card can then be replaced or renewed again.',
  },
  not_replaced: {
    status: 409,
    title: 'The card is not replaced.',
    explanation:
      'Only a card with a successor can be retired. Replace the card first, or change its status ' +
      'if no other card takes its place.',
  },
  delivery_conflict: {
    status: 409,
    title: 'The plastic cannot have this delivery status now.',
    explanation:
      'A plastic is ordered, produced, shipped and delivered, in this order. It can be returned ' +
      'from each of these, and cannot move after it was returned or cancelled. The detail names ' +
      'its present status and those that can be next. Read the batch again.',
  },
  renewal_not_due: {
    status: 409,
    title: 'It is too early to renew the card.',
    explanation:
      'A card can be renewed from some time before its expiry on, which its product sets. The ' +
      'detail names the earliest day. For a damaged plastic, send RenewWithSameExpiry instead.',
  },
  renewal_in_progress: {
    status: 409,
    title: 'A plastic of the card waits.',
    explanation:
      'A plastic was ordered and is not current yet. The detail names it. Migrate makes it ' +
      'current. Before it is produced, the renewal can be cancelled, unless the card has expired ' +
      'but for this plastic, too long ago to be renewed.',
  },
  nothing_to_migrate: {
    status: 409,
    title: 'No plastic of the card waits.',
    explanation:
      'No renewal was ordered, or it was made current or cancelled already. A plastic that was ' +
      'returned is not in the hands of its cardholder. It cannot become current: order another, ' +
      'which ends it. If it is the plastic of a converted card or of a successor, order another ' +
      'with RenewWithSameExpiry. The plastic of a converted card is activated while the card is ' +
      'active (00). If it expired while the next one waits, Migrate makes that one current. ' +
      'Nothing was done.',
  },
  renewal_produced: {
    status: 409,
    title: 'The plastic has been produced.',
    explanation:
      'A renewal can be cancelled until its plastic is produced, and after it was returned. The ' +
      'present plastic works until Migrate makes the new one current. If the plastic did not ' +
      'reach the cardholder, cancel it with notReceived=true, and order another.',
  },
  too_many_plastics: {
    status: 409,
    title: 'The card has had too many plastics.',
    explanation:
      'A card has at most 100 plastics, because the sequence number of a chip has two digits. ' +
      'Replace the card instead.',
  },
} as const
