mod room;
mod told;
