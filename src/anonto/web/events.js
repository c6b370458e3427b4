// What a user does before the page is connected waits, and arrives in the order in which it was done. The framework
// lets each event wait by itself, so that a button could be heard before the choice that was made above it.
const waiting = [];
function inOrder(emit, ...given) {
  waiting.push(() => emit(...given));
  if (waiting.length === 1) sendWaiting();
}
function sendWaiting() {
  if (!window.did_handshake) return setTimeout(sendWaiting, 10);
  for (const send of waiting.splice(0)) send();
}
