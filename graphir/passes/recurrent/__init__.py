"""Loops that are recurrent layers become LSTM, GRU and RNN, and the other way round."""
